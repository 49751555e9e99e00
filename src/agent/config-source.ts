// The agent's configuration: agent.json, which a provider may have written from the cluster, and the host administrator's file. From agent.json only
// keys that git may declare are used. If it has any other key, the whole file is refused and the last accepted one stays in force.
import { gitLimitProblems, HOST_CONFIG_NAME } from '#api/agent-config/git-limits.ts'
import { parseConfig, type ParsedConfig } from '#api/agent-config/agent-config.ts'
import { parsedConfig } from '#api/agent-config/agent-config-map.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { agentErrors } from './agent-errors.ts'
import { writeDurably } from './files/durable.ts'
import type { Files } from './files/port.ts'
import { configFile, goodConfigFile, hostConfigFile, type NodeDir } from './node-dir.ts'

/** Undefined: the file does not exist. */
export interface ConfigTexts {
  readonly declared: string | undefined
  readonly fromHost: string | undefined
}

export interface ConfigDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly log: Pick<Logger, 'warn'>
}

export async function readConfigTexts({ files, dir }: Pick<ConfigDeps, 'dir'> & { files: Pick<Files, 'read'> }) {
  const read = async (path: string) => (await files.read(path))?.toString('utf8')
  return { declared: await read(configFile(dir)), fromHost: await read(hostConfigFile(dir)) } satisfies ConfigTexts
}

/** Why agent.json is not used; undefined when it is. Pure. */
export function declaredRefusal(dir: NodeDir, text: string | undefined): KubeNodeError | undefined {
  const [why] = text === undefined ? [] : gitLimitProblems(text)
  if (why === undefined) return undefined
  return new KubeNodeError(agentErrors.KN3074_agent({ path: configFile(dir), why, hostFile: HOST_CONFIG_NAME }))
}

/** Each key in the host's file replaces the same key in agent.json. Pure. */
export function joinedConfig({ declared, fromHost }: ConfigTexts): ParsedConfig {
  if (fromHost === undefined) return parseConfig(declared)
  const own = parsedConfig(fromHost)
  const given = declared === undefined ? {} : parsedConfig(declared)
  const problems = [
    ...(isObject(own) ? [] : [`${HOST_CONFIG_NAME} is not a JSON object`]),
    ...(isObject(given) ? [] : ['agent.json is not a JSON object']),
  ]
  const joined = parseConfig(JSON.stringify({ ...(isObject(given) ? given : {}), ...(isObject(own) ? own : {}) }))
  return { ...joined, problems: [...problems, ...joined.problems] }
}

/** The configuration that the agent starts with: both texts in force. */
export async function configInForce(deps: ConfigDeps): Promise<ConfigTexts> {
  const { files, dir, log } = deps
  const found = await readConfigTexts(deps)
  const refusal = declaredRefusal(dir, found.declared)
  if (refusal !== undefined) {
    log.warn('agent.json is refused', { error: refusal })
    const kept = (await files.read(goodConfigFile(dir)))?.toString('utf8')
    // An older release kept this file, and may have refused less.
    return { ...found, declared: declaredRefusal(dir, kept) === undefined ? kept : undefined }
  }
  await keep(deps, found.declared)
  return found
}

/** A full disk must not keep the agent from starting. */
async function keep({ files, dir, log }: ConfigDeps, text: string | undefined): Promise<void> {
  const path = goodConfigFile(dir)
  if (text === undefined || !isObject(parsedConfig(text))) return
  try {
    if ((await files.read(path))?.toString('utf8') !== text) await writeDurably(files, path, text)
  } catch (cause) {
    log.warn('cannot keep a copy of agent.json', { path, error: messageOf(cause) })
  }
}
