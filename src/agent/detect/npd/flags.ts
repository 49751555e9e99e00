// Pure: parses `--name=value` and `--name value` arguments, like node-problem-detector's helper programs.

export type Flags = ReadonlyMap<string, readonly string[]>

export function parseFlags(args: readonly string[]): Flags {
  const flags = new Map<string, string[]>()
  for (let n = 0; n < args.length; n++) {
    const arg = args[n] ?? ''
    if (!arg.startsWith('-')) continue
    const text = arg.replace(/^--?/, '')
    const at = text.indexOf('=')
    const next = args[n + 1]
    const isApart = at === -1 && next !== undefined && !next.startsWith('-')
    const name = at === -1 ? text : text.slice(0, at)
    const value = at === -1 ? (isApart ? next : 'true') : text.slice(at + 1)
    if (isApart) n++
    flags.set(name, [...(flags.get(name) ?? []), value])
  }
  return flags
}
