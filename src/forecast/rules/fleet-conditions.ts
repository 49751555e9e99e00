// Conditions that agents report, from the configurations next to the rules: the fleet's JSON files that watch logs or name monitors.
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MAX_AGENT_CONFIG_CHARS } from '#api/agent-config/agent-config-map.ts'
import { conditionsOfComponents, conditionsReportedBy } from '#api/agent-config/config-problems.ts'
import { type MachineComponent, machineComponent } from '#api/kinds/machine-component.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { createValidator } from '#api/validate.ts'
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

/** A fleet's signed statements are such files. */
function componentsIn(text: string): readonly MachineComponent[] {
  const value: unknown = applyDefaults(machineComponent.schema, JSON.parse(text))
  return createValidator().problems(machineComponent, value).length === 0 ? [value as MachineComponent] : []
}

/** An unreadable file reports nothing: this checks the rules, not the fleet. */
function conditionsIn(path: string): ReadonlySet<string> {
  try {
    if (lstatSync(path).size > MAX_AGENT_CONFIG_CHARS) return new Set()
    const text = readFileSync(path, 'utf8')
    return new Set([...conditionsReportedBy(text), ...conditionsOfComponents(componentsIn(text))])
  } catch {
    // Deleted meanwhile, or not readable by this user.
  }
  return new Set()
}
