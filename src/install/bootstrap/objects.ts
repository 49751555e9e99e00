// The two objects that make a cluster follow a repository: the Secret with credentials, and the FleetSource. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { CLUSTERS_NAMESPACE, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'

export interface Followed {
  readonly url: string
  readonly branch: string
  readonly path: string
}

/** What a git server requires, and how it proves its identity: a CA over https, host keys over ssh. */
export interface GitCredentials {
  readonly username?: string
  readonly password?: string
  readonly ca?: string
  readonly sshKey?: string
  readonly knownHosts?: string
}

/** By key of the Secret. */
export const fieldsOf = ({ username, password, ca, sshKey, knownHosts }: GitCredentials) =>
  ({
    username,
    password,
    'ca.crt': ca,
    'ssh-privatekey': sshKey,
    known_hosts: knownHosts,
  }) as Readonly<Record<string, string | undefined>>

export const SOURCE = { namespace: SYSTEM_NAMESPACE, name: 'fleet' } as const
export const GIT_SECRET = { namespace: CLUSTERS_NAMESPACE, name: 'fleet-git' } as const
/** The pipeline that a new repository declares. */
const PIPELINE = 'standard'
const TRACK = 'fleet'

/** Undefined without credentials: an existing Secret stays. */
export function secretOf(credentials: GitCredentials): KubeObject | undefined {
  const data = Object.entries(fieldsOf(credentials)).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, Buffer.from(value).toString('base64')]],
  )
  if (data.length === 0) return undefined
  return { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: GIT_SECRET, data: Object.fromEntries(data) }
}

export const sourceOf = ({ url, branch, path }: Followed, hasSecret: boolean): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'FleetSource',
  metadata: SOURCE,
  spec: {
    url,
    ref: { branch },
    path,
    ...(hasSecret && { secretRef: { name: GIT_SECRET.name } }),
    verify: { mode: 'Off' },
    tracks: [{ name: TRACK, pipelineRef: { name: PIPELINE } }],
  },
})

export type Existing =
  | { readonly kind: 'None' | 'Same' }
  /** The cluster already follows another one. */
  | { readonly kind: 'Other'; readonly source: string; readonly url: string }
  /** Same source, but with a different repository, branch or folder. */
  | { readonly kind: 'Elsewhere'; readonly seen: string }

export function existingOf(sources: readonly FleetSource[], wanted: Followed): Existing {
  const live = sources.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const isOurs = ({ metadata: { namespace, name } }: FleetSource) =>
    namespace === SOURCE.namespace && name === SOURCE.name
  const other = live.find((s) => !isOurs(s))
  if (other !== undefined) {
    const { namespace = '', name = '' } = other.metadata
    return { kind: 'Other', source: `${namespace}/${name}`, url: other.spec.url }
  }
  const own = live.find(isOurs)
  if (own === undefined) return { kind: 'None' }
  const { url, ref, path } = own.spec
  if (url === wanted.url && ref.branch === wanted.branch && path === wanted.path) return { kind: 'Same' }
  return { kind: 'Elsewhere', seen: `${url}, ${ref.branch ?? ref.tag ?? ref.commit ?? ''}, folder ${path}` }
}
