// Reads facts about the service from a systemd unit, and applies a recipe's changes to its text. Pure.

const values = (text: string, key: string): readonly string[] =>
  [...text.matchAll(new RegExp(String.raw`^${key}[ \t]*=[ \t]*(.*?)[ \t]*$`, 'gm'))].map(([, value = '']) => value)

const last = (text: string, key: string): string | undefined => values(text, key).at(-1)

export interface UnitFacts {
  readonly restart: 'Always' | 'OnFailure' | 'Never'
  readonly killMode: 'Process' | 'Group'
  /** Accounts that must exist before it starts. */
  readonly users: readonly string[]
  /** Programs that it starts, without prefixes such as `-` and `!`. */
  readonly programs: readonly string[]
}

/** Accounts that every Linux has, and those that systemd creates while a service runs. */
const isGiven = (user: string, text: string): boolean =>
  ['', 'root', 'nobody', 'daemon'].includes(user) || /^%|^\d+$/.test(user) || /^DynamicUser=(?:yes|true|1)$/m.test(text)

export function unitFacts(text: string): UnitFacts {
  const [type, restart, kill] = ['Type', 'Restart', 'KillMode'].map((key) => last(text, key))
  const user = last(text, 'User') ?? ''
  return {
    // A daemon without the setting is expected to run forever; the agent restarts it.
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
