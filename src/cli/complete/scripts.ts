// The scripts that shells source. Each calls the program, so none is ever out of date, and shows only its answers. The answer `:files` means file names.

export const SHELLS = ['bash', 'zsh', 'fish'] as const

export const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: `_kubenode() {
  local program=\${COMP_WORDS[0]} word current=\${COMP_WORDS[COMP_CWORD]}
  type -P "$program" >/dev/null || program=kubenode
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do
    if [[ $word == :files ]]; then
      compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$current"))
    else
      COMPREPLY+=("$word")
    fi
  done < <("$program" __complete --line "\${COMP_LINE:0:COMP_POINT}" 2>/dev/null </dev/null)
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *[/=] ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
complete -F _kubenode kubenode
`,
  zsh: `#compdef kubenode
_kubenode() {
  local -a closed open
  local program=\${(Q)words[1]} line word help files=0
  [[ -n \${commands[$program]-} || -x $program ]] || program=kubenode
  for line in "\${(@f)$("$program" __complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null </dev/null)}"; do
    word=\${line%%$'\\t'*}
    # Without a help there is no colon: zsh would print "--" behind such words.
    help=\${line#*$'\\t'}
    word=\${word//:/\\\\:}\${help:+:$help}
    case $line in
      '') ;;
      :files*) files=1 ;;
      *[/=]$'\\t'*) open+=("$word") ;;
      *) closed+=("$word") ;;
    esac
  done
  (( files )) && _files
  (( \${#open} )) && _describe kubenode open -S ''
  (( \${#closed} )) && _describe kubenode closed
}
if (( ! \${+functions[compdef]} )); then
  autoload -Uz compinit && compinit
fi
compdef _kubenode kubenode
`,
  fish: `function __kubenode_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l program $words[1]
    type -q "$program"; or set program kubenode
    for line in ("$program" __complete -- $words[2..-1] "$last" 2>/dev/null </dev/null)
        if string match -q ':files*' -- $line
            __fish_complete_path "$last"
        else
            echo $line
        end
    end
end
complete -c kubenode -f -a '(__kubenode_complete)'
`,
}
