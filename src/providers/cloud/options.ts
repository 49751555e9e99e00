// Options shared by all cloud providers.
import { choice, fallback, int, map, optional, str } from '#api/build.ts'
import { labelValue, url } from '#api/fields.ts'
import { path } from '../definition.ts'
import type { Limit } from './rate.ts'

const regionField = (example: string) =>
  str(`Region, such as ${example}. Hosts of another region are never asked about.`, {
    min: 2,
    max: 63,
    pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
    expects: 'the name of a region',
  })

/** An account has a few raised quotas, never a hundred. */
const MOST_LIMITS = 32

export const cloudOptions = (example: string, unit: string, defaultFrom: string) => ({
  region: regionField(example),
  cluster: labelValue(
    'Value of the tag kubenode.io/cluster on our hosts. It must be unique in the account and never change: the uid of namespace kube-system is a good one.',
  ),
  credentials: fallback(
    choice(
      `Where keys come from. Environment: ${defaultFrom}. File: keyFile. Metadata: the role of the host that runs this program.`,
      ['Environment', 'File', 'Metadata'],
    ),
    'Environment',
  ),
  keyFile: optional(path('JSON file with id and secret, and session for keys that end; read again every few minutes.')),
  limits: optional(
    map(
      `What the account may call ${unit}, by action, where it differs from the usual quota. Somewhat less is used, since others call too.`,
      int(`Calls ${unit}.`, { min: 1, max: 100_000 }),
      { max: MOST_LIMITS },
    ),
  ),
  endpoint: optional(url('Address of the API, for private endpoints; that of the region when left out.')),
  stsEndpoint: optional(url('Address of the service that lends keys; that of the region when left out.')),
  metadataEndpoint: optional(url('Address of the metadata service; the usual one when left out.')),
})

/** An operator's limits override the usual ones. */
export const withLimits =
  (usual: (action: string) => Limit, limits: Readonly<Record<string, number>> = {}, seconds = 1) =>
  (action: string): Limit => {
    const own = Object.hasOwn(limits, action) ? limits[action] : undefined
    if (own === undefined) return usual(action)
    const perSecond = own / seconds
    return { perSecond, burst: Math.max(1, Math.floor(seconds === 1 ? own * 2 : own / 10)) }
  }
