#compdef benchctl
# zsh completion for benchctl; load it with: source <(benchctl completion zsh)
_benchctl() {
    local line hints=0 text
    local -a answer values shown flags
    answer=("${(@f)$(${~words[1]} __complete "${(@)words[2,CURRENT]}" 2> /dev/null)}")
    [[ ${PREFIX} == --*=* ]] && compset -P '*='
    for line in "${answer[@]}"; do
        if [[ $line == :<-> ]]; then
            hints=${line#:}
        elif [[ -n $line ]]; then
            text=${line%%$'\t'*}
            values+=("$text")
            if [[ $line == *$'\t'* ]]; then text+="  -- ${line#*$'\t'}"; fi
            shown+=("$text")
        fi
    done
    ((hints & 2)) && flags+=(-S '')
    compadd "${flags[@]}" -l -d shown -a values
    if ! ((hints & 4)); then
        [[ $PREFIX == sqlite:* ]] && compset -P sqlite:
        _files
    fi
    return 0
}
if [[ ${funcstack[1]} == _benchctl ]]; then _benchctl "$@"; else compdef _benchctl benchctl; fi
