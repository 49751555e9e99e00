// Registry credentials from the file that `docker login` and other tools write. Does not run credential helpers.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readBoundedText } from '#lib/bounded-file.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { ociErrors } from './oci-errors.ts'
import type { Credentials } from './registry-auth.ts'

/** Docker's own registry is listed under its historical address. */
const OLD_NAMES: Readonly<Record<string, readonly string[]>> = {
  'docker.io': ['https://index.docker.io/v1/', 'index.docker.io'],
}

export interface DockerConfigPlace {
  /** As given by the user; must exist. */
  readonly file?: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Undefined for a registry that the file does not list. */
export function credentialsOf(host: string, { file: given, env }: DockerConfigPlace): Credentials | undefined {
  const file = given ?? usualPlace(env)
  const bad = (why: string) => new KubeNodeError(ociErrors.KN13022_file({ file: file ?? '', why }))
  if (file === undefined) return undefined
  if (!existsSync(file)) {
    if (given === undefined) return undefined
    throw bad('there is no such file')
  }
  const config = jsonIn(file)
  if (!isObject(config)) throw bad('it is not a JSON object')
  const { auths, credHelpers, credsStore } = config
  const names = [host, `https://${host}`, `https://${host}/`, `https://${host}/v2/`, ...(OLD_NAMES[host] ?? [])]
  const entry = isObject(auths) ? names.map((name) => auths[name]).find((a) => isObject(a) && 'auth' in a) : undefined
  if (!isObject(entry)) {
    const isElsewhere = (isObject(credHelpers) && host in credHelpers) || typeof credsStore === 'string'
    const isNamed = isObject(auths) && names.some((name) => name in auths)
    if (isElsewhere && (isNamed || (isObject(credHelpers) && host in credHelpers)))
      throw bad(`those of ${host} are kept by a credential helper, which kubenode does not run`)
    return undefined
  }
  const [username, ...rest] = Buffer.from(String(entry['auth']), 'base64').toString('utf8').split(':')
  if (username === undefined || username === '' || rest.length === 0)
    throw bad(`those of ${host} are not NAME:PASSWORD`)
  return { username, password: rest.join(':') }
}

function usualPlace(env: DockerConfigPlace['env']): string | undefined {
  const folder = env['DOCKER_CONFIG'] ?? (env['HOME'] === undefined ? undefined : join(env['HOME'], '.docker'))
  return folder === undefined ? undefined : join(folder, 'config.json')
}

function jsonIn(file: string): unknown {
  try {
    return JSON.parse(readBoundedText(file))
  } catch {
    return undefined
  }
}
