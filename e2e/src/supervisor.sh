# Runs the programs of one test and outlives it: when standard input closes, which it
# does however the test process ends, every program is killed and the folder removed.
# One order a line; each is answered by one line.
#   run NAME     starts FOLDER/NAME.run, output to FOLDER/NAME.log; answers its pid
#   state PID    answers "running" or "exited"
#   kill PID     SIGKILL; answers once the program is gone
folder=$1

# Caught, not ignored: an ignored signal would stay ignored in every program.
trap : HUP INT TERM PIPE

pids=
while read -r order subject; do
    case $order in
    run)
        sh "$folder/$subject.run" </dev/null >>"$folder/$subject.log" 2>&1 &
        pids="$pids $!"
        echo "$!"
        ;;
    state)
        state=X
        read -r _ _ state _ 2>/dev/null <"/proc/$subject/stat"
        case $state in
        X | Z) echo exited ;;
        *) echo running ;;
        esac
        ;;
    kill)
        kill -KILL "$subject" 2>/dev/null
        wait "$subject" 2>/dev/null
        others=
        for pid in $pids; do
            [ "$pid" = "$subject" ] || others="$others $pid"
        done
        pids=$others
        echo gone
        ;;
    esac
done

# As the first process of a PID namespace, all that it started ends with it.
[ $$ -eq 1 ] && exit

# shellcheck disable=SC2086 # one word a pid
kill -KILL $pids 2>/dev/null
wait
rm -rf "$folder"
