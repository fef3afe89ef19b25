//! How many objects there are.

use anyhow::Result;
use kube::api::{Api, ListParams};

/// How many there are; costs the server a page of one.
pub(crate) async fn count<K>(api: &Api<K>) -> Result<u32>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let page = api.list_metadata(&ListParams::default().limit(1)).await?;
    let rest = page.metadata.remaining_item_count.unwrap_or_default();
    Ok(u32::try_from(rest)? + u32::try_from(page.items.len())?)
}
