// Problems of an agent.json in git, and the Node conditions that agents report because of it.
import { isObject } from '#lib/json.ts'
import type { MachineComponent } from '../kinds/machine-component.ts'
import { parseConfig } from './agent-config.ts'
import { parsedConfig } from './agent-config-map.ts'
import { gitLimitProblems } from './git-limits.ts'
import { parseMonitor, parseMonitorText } from './monitor-config.ts'

export interface AgentConfigProblem {
  /** `HostOnly`: an agent could use it, but not from git. */
  readonly kind: 'Mistake' | 'HostOnly'
  readonly why: string
  /** JSON pointer into the configuration. */
  readonly pointer: string
  /** Words to search for in the file. */
  readonly words: readonly string[]
}

/** Everything that an agent would leave out, which git may not declare. For a usable text. */
export function agentConfigProblems(text: string): readonly AgentConfigProblem[] {
  const value = parsedConfig(text)
  const inline = monitorsIn(value).flatMap(([config, n]) =>
    parseMonitor(config).problems.map((why) => `monitors[${n}].config: ${why}`),
  )
  const problemOf =
    (kind: AgentConfigProblem['kind']) =>
    (why: string): AgentConfigProblem => {
      const keys = keysOf(why)
      return { kind, why, pointer: keys.map((k) => `/${k}`).join(''), words: searchWordsOf(keys, value) }
    }
  const mistakes = [...parseConfig(text).problems, ...inline].map(problemOf('Mistake'))
  const seen = new Set(mistakes.map((m) => m.pointer))
  // A path with .. would be reported twice.
  return [
    ...mistakes,
    ...gitLimitProblems(text)
      .map(problemOf('HostOnly'))
      .filter((p) => !seen.has(p.pointer)),
  ]
}

/** Every problem starts with a path, such as `logs[0].rules[1].pattern`. */
const keysOf = (problem: string): readonly string[] =>
  (/^[^\s:]+/.exec(problem)?.[0] ?? '').split(/[.[\]]+/).filter((k) => k !== '')

/** Types of Node conditions that agents report with this configuration. Monitor files are on the nodes and cannot be read here. */
export function conditionsReportedBy(text: string): ReadonlySet<string> {
  const ofLogs = parseConfig(text).config.logs.flatMap(({ rules }) => rules.map((r) => r.condition))
  const ofMonitors = monitorsIn(parsedConfig(text)).flatMap(([config]) => {
    const { monitor } = parseMonitor(config)
    return monitor === undefined || monitor.kind === 'Stats' ? [] : monitor.conditions.map((c) => c.type)
  })
  return new Set([...ofLogs, ...ofMonitors])
}

/** Types of conditions from monitor files that signed components install. Templates with values are not monitor files. */
export function conditionsOfComponents(components: readonly MachineComponent[]): readonly string[] {
  return components.flatMap(({ spec }) => (spec.files ?? []).flatMap(({ template }) => conditionsOfFile(template)))
}

/** Empty if the text is no monitor file. */
export function conditionsOfFile(text: string): readonly string[] {
  if (!text.trimStart().startsWith('{')) return []
  const { monitor } = parseMonitorText(text)
  return monitor === undefined || monitor.kind === 'Stats' ? [] : monitor.conditions.map((c) => c.type)
}

/** Inline monitors, with their index. */
function monitorsIn(value: unknown): readonly (readonly [config: unknown, index: number])[] {
  const monitors = isObject(value) ? value['monitors'] : undefined
  if (!Array.isArray(monitors)) return []
  return monitors.flatMap((m: unknown, n) => (isObject(m) && isObject(m['config']) ? [[m['config'], n] as const] : []))
}

/** For an object, the words of its content, which identify it better than its key. */
function searchWordsOf(keys: readonly string[], value: unknown): readonly string[] {
  const found = keys.reduce<unknown>((v, key) => (v as Readonly<Record<string, unknown>> | undefined)?.[key], value)
  const names = keys.filter((k) => !/^\d+$/.test(k)).slice(-1)
  const texts = textsIn(found)
  return typeof found === 'object' ? [...texts, ...names] : [...names, ...texts]
}

/** As JSON writes them. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [JSON.stringify(value).slice(1, -1)]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsIn)
}
