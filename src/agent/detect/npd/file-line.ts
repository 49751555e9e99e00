// Pure: extracts the time and the message from one line of a log file, according to the file's settings.
import { compileRegex } from '#lib/regex.ts'
import { Steps } from '#api/agent-config/log-pattern.ts'
import { goLayout } from '#api/agent-config/go-time.ts'
import type { LogPlugin } from '#api/agent-config/monitor-config.ts'

export interface FileLine {
  readonly atMs: number
  readonly message: string
}

/** Undefined for a line without a time or a message, or one too long for its patterns: no rule reads it. */
export function fileLineReader(
  plugin: Extract<LogPlugin, { kind: 'filelog' }>,
): (line: string, now: number) => FileLine | undefined {
  const [timestamp, message] = [compileRegex(plugin.timestamp), compileRegex(plugin.message)]
  const layout = goLayout(plugin.timestampFormat)
  return (line, now) => {
    const steps = new Steps()
    if (!steps.spend(timestamp, line) || !steps.spend(message, line)) return undefined
    const time = timestamp.match(line)
    const atMs = time === undefined ? undefined : layout?.parse(time.groups.at(-1) ?? wholeOf(time), now)
    if (atMs === undefined) return undefined
    const matched = message.match(line)
    return matched === undefined ? undefined : { atMs, message: matched.groups.at(-1) ?? wholeOf(matched) }
  }
}

/** If the pattern has groups, the last one counts, even if it did not match. */
const wholeOf = ({ groups, text }: { readonly groups: readonly unknown[]; readonly text: string }): string =>
  groups.length === 0 ? text : ''
