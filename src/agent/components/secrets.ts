// Secret values of a configuration: read from this machine's object, opened with its key, and merged into the values only while files are rendered.
import { KubeNodeError } from '#lib/errors.ts'
import { isObject, type JsonObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { openSealed } from '#api/sealed.ts'
import { sealedKey, sealedObjectName } from '#api/sealed-names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { agentErrors } from '../agent-errors.ts'

const configMapType = coreKind('ConfigMap')

export interface SecretPlace {
  readonly path: string
  readonly sealedIn?: string | undefined
}

export interface SecretDeps {
  readonly client: Pick<KubeClient, 'get'>
  readonly machine: string
  readonly privateKey: () => Promise<string>
}

const refused = (component: string, path: string, why: string) =>
  new KubeNodeError(agentErrors.KN8024({ component, path, why }), { retry: 'later' })

export async function withSecrets(
  deps: SecretDeps,
  component: string,
  values: JsonObject,
  secrets: readonly SecretPlace[],
): Promise<JsonObject> {
  let filled = values
  for (const { path, sealedIn } of secrets)
    filled = withValue(filled, path.split('.'), await readSecret(deps, component, path, sealedIn ?? component))
  return filled
}

/** Only the values, in the order of their paths. */
export const secretTexts = (
  deps: SecretDeps,
  component: string,
  secrets: readonly SecretPlace[],
): Promise<readonly string[]> =>
  Promise.all(secrets.map(({ path, sealedIn }) => readSecret(deps, component, path, sealedIn ?? component)))

async function readSecret(
  { client, machine, privateKey }: SecretDeps,
  component: string,
  path: string,
  sealedIn: string,
): Promise<string> {
  const name = sealedObjectName(sealedIn, machine)
  const found = await client.get(configMapType, { namespace: SYSTEM_NAMESPACE, name })
  const data = isObject(found?.['data']) ? found['data'] : {}
  const sealed = data[sealedKey(path)]
  if (typeof sealed !== 'string')
    throw refused(component, path, `${SYSTEM_NAMESPACE}/${name} has no value for this machine`)
  const opened = openSealed(await privateKey(), { machine, component, path }, sealed)
  if (opened.kind === 'Refused') throw refused(component, path, opened.reason)
  return opened.value
}

/** Returns a copy: the object from the server is not modified. */
function withValue(values: JsonObject, [key = '', ...rest]: readonly string[], value: string): JsonObject {
  const below = Object.hasOwn(values, key) ? values[key] : undefined
  const next = rest.length === 0 ? value : withValue(isObject(below) ? below : {}, rest, value)
  return Object.fromEntries([...Object.entries(values).filter(([k]) => k !== key), [key, next]])
}
