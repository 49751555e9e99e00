// Pure: conditions of the Node that another writer, such as node-problem-detector, keeps fresh. The agent does not touch them.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'

/** node-problem-detector sends a heartbeat every five minutes; it may miss three. */
const FRESH_MS = 15 * 60_000

export function foreignConditions(node: KubeObject, ownManager: string, now: number): ReadonlySet<string> {
  const status = isObject(node['status']) ? node['status'] : {}
  const conditions = Array.isArray(status['conditions']) ? status['conditions'].filter(isObject) : []
  const fresh = conditions.filter((c) => now - Date.parse(String(c['lastHeartbeatTime'])) < FRESH_MS)
  const others = ownedByOthers(node, ownManager)
  return new Set(fresh.map((c) => String(c['type'])).filter((type) => others.has(type)))
}

/** Condition types whose heartbeat another manager owns. */
function ownedByOthers(node: KubeObject, ownManager: string): ReadonlySet<string> {
  const entries = Array.isArray(node.metadata['managedFields']) ? node.metadata['managedFields'] : []
  const types = new Set<string>()
  for (const entry of entries as readonly unknown[]) {
    if (!isObject(entry) || entry['manager'] === ownManager) continue
    const conditions = child(child(entry['fieldsV1'], 'f:status'), 'f:conditions')
    for (const [key, fields] of Object.entries(conditions ?? {})) {
      const type = /^k:\{"type":"([^"]+)"\}$/.exec(key)?.[1]
      if (type !== undefined && child(fields, 'f:lastHeartbeatTime') !== undefined) types.add(type)
    }
  }
  return types
}

function child(v: unknown, name: string): Readonly<Record<string, unknown>> | undefined {
  const inner = isObject(v) ? v[name] : undefined
  return isObject(inner) ? inner : undefined
}
