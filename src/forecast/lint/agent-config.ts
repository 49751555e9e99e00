// Problems of agent.json, the agents' configuration, with their positions in the file.
import { basename } from 'node:path'
import { AGENT_CONFIG_KEY } from '#api/agent-config/agent-config-map.ts'
import { agentConfigProblems } from '#api/agent-config/config-problems.ts'
import type { ParsedDocument } from '#lib/documents.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { agentConfigError } from '#declared/agent-config.ts'
import type { LintFile } from './files.ts'
import type { Finding } from './finding.ts'

/** Not an API object: identified by its file name, as agents do. */
export const isAgentConfigFile = ({ name }: LintFile, documents: readonly ParsedDocument[]): boolean =>
  basename(name) === AGENT_CONFIG_KEY && documents.every((d) => !isObject(d.value) || d.value['kind'] === undefined)

export function agentConfigFindings(
  { name: file, text }: LintFile,
  documents: readonly ParsedDocument[],
): readonly Finding[] {
  const notJson = jsonProblem(text)
  if (notJson !== undefined) return [findingOf(file, { kind: 'Mistake', why: notJson.why }, notJson)]
  const placeOf = (pointer: string) => documents[0]?.placeOf(pointer) ?? START
  return agentConfigProblems(text).map((problem) => {
    const { pointer } = problem
    return { ...findingOf(file, problem, placeOf(pointer)), pointer }
  })
}

const START = { line: 1, column: 1 } as const

interface Place {
  readonly line: number
  readonly column: number
}

function findingOf(file: string, problem: Parameters<typeof agentConfigError>[0], { line, column }: Place): Finding {
  const { code, text } = agentConfigError(problem)
  return { file, line, column, code, message: text }
}

/** Commas and comments that YAML permits are not valid JSON. */
function jsonProblem(text: string): (Place & { readonly why: string }) | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (cause) {
    const why = messageOf(cause)
    const [, line = '1', column = '1'] = /\(line (\d+) column (\d+)\)/.exec(why) ?? []
    return { why: `it is not JSON: ${why.replaceAll(/\s+/g, ' ')}`, line: Number(line), column: Number(column) }
  }
}
