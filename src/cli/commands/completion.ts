// `kubenode completion SHELL`: a script that asks the program itself (`kubenode __complete WORD…`), so that it is never out of date.
import { Argument } from 'commander'
import type { Command, Option } from 'commander'
import type { Io } from '../io.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

const SCRIPTS: Record<(typeof SHELLS)[number], string> = {
  bash: `_kubenode() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _kubenode kubenode
`,
  zsh: `#compdef kubenode
_kubenode() {
  local -a found
  local line
  for line in \${(f)"$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then _describe kubenode found; else _files; fi
}
compdef _kubenode kubenode
`,
  fish: `complete -c kubenode -f -a '(set -l words (commandline -opc); $words[1] __complete -- $words[2..-1] (commandline -ct) 2>/dev/null)'
`,
}

export interface Candidate {
  readonly word: string
  readonly help: string
}

const optionCandidates = (options: readonly Option[]): Candidate[] =>
  options.filter((o) => !o.hidden).map((o) => ({ word: o.long ?? o.short ?? '', help: o.description }))

/** What may follow the words typed so far; the last word is the one being typed. */
export function candidates(program: Command, words: readonly string[]): Candidate[] {
  const typed = words.at(-1) ?? ''
  let command = program
  let pending: Option | undefined
  for (const word of words.slice(0, -1)) {
    if (pending) {
      pending = undefined
      continue
    }
    pending = command.options.find((o) => (o.long === word || o.short === word) && o.required)
    command = command.commands.find((c) => c.name() === word || c.aliases().includes(word)) ?? command
  }
  const visible = command.commands.filter((c) => !c.name().startsWith('__'))
  const argument = command.registeredArguments[0]
  const all: Candidate[] = pending
    ? (pending.argChoices ?? []).map((word) => ({ word, help: '' }))
    : typed.startsWith('-')
      ? [...optionCandidates(command.options), { word: '--help', help: 'show what this command does' }]
      : [
          ...visible.map((c) => ({ word: c.name(), help: c.description() })),
          ...(argument?.argChoices ?? []).map((word) => ({ word, help: '' })),
        ]
  return all.filter((c) => c.word.startsWith(typed)).sort((a, b) => (a.word < b.word ? -1 : 1))
}

export function register(program: Command, io: Io): void {
  program
    .command('completion')
    .description('print a completion script; add `source <(kubenode completion bash)` to ~/.bashrc')
    .addArgument(new Argument('<shell>', 'for which shell').choices(SHELLS))
    .action((shell: (typeof SHELLS)[number]) => io.out(SCRIPTS[shell]))
  program
    .command('__complete [words...]', { hidden: true })
    .allowUnknownOption()
    .action((words: string[]) => {
      for (const { word, help } of candidates(program, words)) io.out(`${word}\t${help}\n`)
    })
}
