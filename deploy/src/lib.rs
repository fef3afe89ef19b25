//! What installs the operator: kustomize, a Helm chart and a container image, as files of this folder.
//! Its build script keeps those parts of them that the code knows.
