// Merges several agent configurations, such as the fleet's and a stage's. Pure. Nothing gets lost: lists are joined, and of two entries with the same name the
// later one wins.
import { isObject } from '#lib/json.ts'

type Config = Readonly<Record<string, unknown>>

export function layeredConfig(layers: readonly object[]): Config {
  return layers.reduce<Config>((below, layer) => {
    const joined: Record<string, unknown> = { ...below }
    for (const [key, value] of Object.entries(layer)) joined[key] = layered(key, below[key], value)
    return joined
  }, {})
}

function layered(key: string, below: unknown, above: unknown): unknown {
  if (key === 'monitors' && Array.isArray(below) && Array.isArray(above)) return joinedMonitors(below, above)
  if (key === 'logs' && Array.isArray(below) && Array.isArray(above)) return joinedLogs(below, above)
  if (key === 'detectors' && isObject(below) && isObject(above)) return joinedDetectors(below, above)
  return above
}

/** A file is identified by its path, an inline monitor by its source. */
function monitorName(monitor: unknown): string | undefined {
  if (typeof monitor === 'string') return monitor
  if (!isObject(monitor)) return undefined
  const { file, config } = monitor
  const source = isObject(config) ? config['source'] : undefined
  return [file, source].find((name) => typeof name === 'string')
}

function joinedMonitors(below: readonly unknown[], above: readonly unknown[]): readonly unknown[] {
  const replaced = new Set(above.map(monitorName))
  return [...below.filter((m) => monitorName(m) === undefined || !replaced.has(monitorName(m))), ...above]
}

/** The rules of one file form one list; duplicates of both layers appear once. */
function joinedLogs(below: readonly unknown[], above: readonly unknown[]): readonly unknown[] {
  const joined = [...below]
  for (const log of above) {
    const at = joined.findIndex((one) => isObject(one) && isObject(log) && one['path'] === log['path'])
    const before = joined[at]
    if (!isObject(before) || !isObject(log) || !Array.isArray(before['rules']) || !Array.isArray(log['rules'])) {
      joined.push(log)
      continue
    }
    const seen = new Set(before['rules'].map((rule) => JSON.stringify(rule)))
    const more = log['rules'].filter((rule) => !seen.has(JSON.stringify(rule)))
    joined[at] = { ...before, ...log, rules: [...before['rules'], ...more] }
  }
  return joined
}

/** Thresholds that the later layer does not set stay; it may turn a whole detector on or off. */
function joinedDetectors(below: Config, above: Config): Config {
  const joined: Record<string, unknown> = { ...below }
  for (const [name, settings] of Object.entries(above)) {
    const before = below[name]
    joined[name] = isObject(before) && isObject(settings) ? { ...before, ...settings } : settings
  }
  return joined
}
