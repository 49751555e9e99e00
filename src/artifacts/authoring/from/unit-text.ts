// Pure: what the text of a systemd unit says about the service, and the changes that a recipe makes to it.

const values = (text: string, key: string): readonly string[] =>
  [...text.matchAll(new RegExp(String.raw`^${key}[ \t]*=[ \t]*(.*?)[ \t]*$`, 'gm'))].map(([, value = '']) => value)

const last = (text: string, key: string): string | undefined => values(text, key).at(-1)

export interface UnitFacts {
  readonly restart: 'Always' | 'OnFailure' | 'Never'
  readonly killMode: 'Process' | 'Group'
  /** Accounts that must be there before it starts. */
  readonly users: readonly string[]
  /** Programs that it starts, without prefixes such as `-` and `!`. */
  readonly programs: readonly string[]
}

/** Accounts of every Linux, and those that systemd makes for the time of a service. */
const isGiven = (user: string, text: string): boolean =>
  ['', 'root', 'nobody', 'daemon'].includes(user) || /^%|^\d+$/.test(user) || /^DynamicUser=(?:yes|true|1)$/m.test(text)

export function unitFacts(text: string): UnitFacts {
  const [type, restart, kill] = ['Type', 'Restart', 'KillMode'].map((key) => last(text, key))
  const user = last(text, 'User') ?? ''
  return {
    // A daemon without the setting is one that its distribution expects to run for ever; the agent restarts it.
    restart: type === 'oneshot' ? 'Never' : restart !== undefined && restart.startsWith('on-') ? 'OnFailure' : 'Always',
    killMode: kill === 'process' || kill === 'none' ? 'Process' : 'Group',
    users: isGiven(user, text) ? [] : [user],
    programs: values(text, 'ExecStart').flatMap((v) => /^[-@:+!|]*(\/\S+)/.exec(v)?.[1] ?? []),
  }
}

export function changedUnit(text: string, without: RegExp | undefined, service: readonly string[]): string {
  const kept = text.split('\n').filter((line) => without?.test(line) !== true)
  const at = kept.indexOf('[Service]')
  return at === -1 || service.length === 0
    ? kept.join('\n')
    : [...kept.slice(0, at + 1), ...service, ...kept.slice(at + 1)].join('\n')
}
