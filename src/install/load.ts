// Builds a release from flags, a values file and an earlier run's settings, and validates them before sending anything.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse, stringify } from 'yaml'
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { Problem } from '#api/problem.ts'
import { readBoundedText } from '#lib/bounded-file.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import { isObject } from '#lib/json.ts'
import { modulePath } from '#lib/release-root.ts'
import { releaseManifests } from '#delivery/release-manifests.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { isApiError } from '#kube/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { VERSION } from '#lib/program-version.ts'
import { installErrors } from './install-errors.ts'
import { labelled, labelValue, type Release } from './release.ts'
import { settingProblems } from './setting-problems.ts'

export interface SettingFlags {
  readonly cluster?: string
  readonly roles?: string
  readonly image?: string
  readonly registry?: string
  readonly replicas?: string
  readonly values?: string
  /** Defaults from another command, which the user may override. */
  readonly defaults?: Values
}

/** Charts are not bundled into the program: they load from their folder, as in the cdk8s CLI. */
interface Charts {
  readonly installObjects: (settings: never) => readonly KubeObject[]
}
interface Settings {
  readonly readSettings: (
    value: unknown,
  ) =>
    | { readonly kind: 'Value'; readonly value: unknown }
    | { readonly kind: 'Problems'; readonly problems: readonly Problem[] }
}

const load = async <T>(path: string): Promise<T> =>
  (await import(pathToFileURL(modulePath(`deploy/charts/${path}`)).href)) as T

const secretType = coreKind('Secret')
/** Stores the settings, so that an upgrade needs no values file. Provider options may contain credentials. */
const VALUES_NAME = 'kubenode-install'
const VALUES_KEY = 'values.yaml'

export type Values = Readonly<Record<string, unknown>>

function parsedValues(text: string, flag: string): Values {
  let value: unknown
  try {
    value = parse(text) ?? {}
  } catch (cause) {
    // The parser's message is for programmers: it names one of its functions.
    const isList = isObject(cause) && cause['code'] === 'MULTIPLE_DOCS'
    const why = isList ? 'the file must be one document; remove what follows the line ---' : firstLine(messageOf(cause))
    throw new KubeNodeError(installErrors.KN1002_flag({ flag, why, command: 'install' }), { cause })
  }
  if (isObject(value)) return value
  throw new KubeNodeError(
    installErrors.KN1002_flag({
      flag,
      why: 'the file must be a map of settings, such as cluster: prod-1',
      command: 'install',
    }),
  )
}

/** The parser appends a multi-line excerpt. */
const firstLine = (text: string): string => text.split('\n', 1)[0]?.replace(/:$/, '') ?? text

export function valuesFile(file: string, cwd: string): Values {
  const flag = `--values ${file}`
  try {
    return parsedValues(readBoundedText(resolve(cwd, file)), flag)
  } catch (cause) {
    if (cause instanceof KubeNodeError) throw cause
    throw new KubeNodeError(installErrors.KN1002_flag({ flag, why: systemTrouble(cause), command: 'install' }), {
      cause,
    })
  }
}

/** The last run's settings; empty if there was none. */
export async function storedValues(client: KubeClient): Promise<Values> {
  const found = await client.get(secretType, { namespace: SYSTEM_NAMESPACE, name: VALUES_NAME }).catch((cause) => {
    if (!(isApiError(cause) && cause.status === 403)) throw cause
    // The settings may contain credentials, so few users may read them. This is the first right that the command needs.
    const what = `get secret ${VALUES_NAME} of namespace ${SYSTEM_NAMESPACE}`
    throw new KubeNodeError(installErrors.KN2403_install({ what, more: '' }), { cause })
  })
  const data = isObject(found?.['data']) ? found['data'] : {}
  const text = data[VALUES_KEY]
  return typeof text === 'string' ? parsedValues(Buffer.from(text, 'base64').toString(), `secret ${VALUES_NAME}`) : {}
}

/** Flags override the file. */
export function mergedValues(values: Values, flags: SettingFlags): Values {
  const { cluster, roles, image, registry, replicas } = flags
  return {
    ...values,
    ...defined({ cluster }),
    ...(roles !== undefined && { roles: roles.split(',').map((r) => r.trim()) }),
    ...defined({ image, registry }),
    ...(replicas !== undefined && { replicas: /^\d+$/.test(replicas) ? Number(replicas) : replicas }),
  }
}

const isSystem = ({ kind, metadata }: KubeObject): boolean => kind === 'Namespace' && metadata.name === SYSTEM_NAMESPACE

const named = (o: KubeObject, cluster: string): KubeObject => ({
  ...o,
  metadata: { ...o.metadata, annotations: { ...o.metadata.annotations, [ANNOTATIONS.clusterName]: cluster } },
})

export async function releaseOf(values: Values, version: string = VERSION): Promise<Release> {
  const [{ readSettings }, { installObjects }] = await Promise.all([
    load<Settings>('settings.ts'),
    load<Charts>('install.ts'),
  ])
  const read = readSettings(structuredClone({ ...values, version: labelValue(version) }))
  if (read.kind === 'Problems') throw new KubeNodeError(installErrors.KN1433({ why: settingProblems(read.problems) }))
  const chosen: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: VALUES_NAME, namespace: SYSTEM_NAMESPACE },
    type: 'Opaque',
    data: { [VALUES_KEY]: Buffer.from(stringify(values, { lineWidth: 0 })).toString('base64') },
  }
  const { cluster } = values
  const mark = (o: KubeObject): KubeObject => labelled(isSystem(o) ? named(o, String(cluster)) : o, version)
  return {
    version: labelValue(version),
    definitions: releaseManifests().kinds.map(mark),
    objects: [...installObjects(read.value as never), chosen].map(mark),
  }
}
