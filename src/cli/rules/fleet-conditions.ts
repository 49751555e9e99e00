// The conditions that agents report with the configurations beside the rules: JSON files of the fleet that watch logs or name monitors.
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MAX_AGENT_CONFIG_CHARS } from '#api/agent-config/agent-config-map.ts'
import { conditionsReportedBy } from '#api/agent-config/config-problems.ts'
import { below } from './below.ts'

export function conditionsOfFleet(folder: string): ReadonlySet<string> {
  return new Set(jsonFiles(folder).flatMap((path) => [...conditionsIn(path)]))
}

function jsonFiles(folder: string): readonly string[] {
  try {
    if (!lstatSync(folder).isDirectory()) return []
    return below(folder)
      .filter(({ isFile, path }) => isFile && path.endsWith('.json'))
      .map(({ path }) => join(folder, path))
  } catch {
    // Rules may be in a repository without a fleet.
    return []
  }
}

/** A file that cannot be read reports nothing: the rules are checked here, not the fleet. */
function conditionsIn(path: string): ReadonlySet<string> {
  try {
    if (lstatSync(path).size <= MAX_AGENT_CONFIG_CHARS) return conditionsReportedBy(readFileSync(path, 'utf8'))
  } catch {
    // Deleted meanwhile, or not readable by this user.
  }
  return new Set()
}
