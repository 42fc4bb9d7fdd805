# bash completion for benchctl; load it with: source <(benchctl completion bash)
_benchctl() {
    local line=${COMP_LINE:0:COMP_POINT} typed words lines hints broken i
    read -a words <<< "$line" 2> /dev/null
    typed=${words[${#words[@]} - 1]}
    if [[ $line == *[[:space:]] ]]; then
        words+=('')
        typed=
    fi
    mapfile -t lines < <("${words[0]/#\~/$HOME}" __complete "${words[@]:1}" 2> /dev/null)
    COMPREPLY=()
    ((${#lines[@]})) || return
    hints=${lines[${#lines[@]} - 1]#:}
    broken=${typed%"${typed##*[=:]}"}
    [[ $typed == --*=* ]] && broken=${broken#*=}
    for ((i = 0; i < ${#lines[@]} - 1; i++)); do
        typed=${lines[i]%%$'\t'*}
        COMPREPLY+=("${typed#"$broken"}")
    done
    if ((hints & 2)); then compopt -o nospace; fi
    if ! ((hints & 4)); then compopt -o default; fi
} 2> /dev/null
complete -F _benchctl benchctl
