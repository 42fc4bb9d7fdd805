# fish completion for benchctl; load it with: benchctl completion fish | source
function __benchctl_complete
    set -l typed (commandline -ct)
    set -l words (commandline -opc) $typed
    set -l option (string match -r -- '^--[^=]*=' $typed)
    set -q option[1]; or set option ''
    set -l lines ($words[1] __complete $words[2..-1] 2> /dev/null)
    test (count $lines) -gt 0; or return
    set -l hints (string sub -s 2 -- $lines[-1])
    set -e lines[-1]
    for line in $lines
        echo -- $option$line
    end
    if test (math "bitand($hints, 4)") -eq 0
        set -l before (string match -r -- '^.*[=:]' $typed)
        set -q before[1]; or set before ''
        for path in (__fish_complete_path (string sub -s (math (string length -- $before) + 1) -- $typed))
            echo -- $before$path
        end
    end
end
complete -c benchctl -f -k -a '(__benchctl_complete)'
