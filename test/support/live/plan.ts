// What a run against a real cloud would create, or why it is refused. Pure: nothing is asked, and nothing costs money, before a person has named the place twice.
import { randomUUID } from 'node:crypto'

const NETWORK = { aws: 'subnets', alicloud: 'vSwitches' } as const
type VendorName = keyof typeof NETWORK

export interface LivePlan {
  readonly kind: 'Run'
  readonly vendor: VendorName
  readonly region: string
  /** On everything that the run creates; no other run has it. */
  readonly cluster: string
  readonly params: Readonly<Record<string, string>>
  /** For people, before it begins. */
  readonly says: readonly string[]
}

interface LiveRefusal {
  readonly kind: 'Refused'
  readonly why: string
}

export const PERMISSION = 'KUBENODE_LIVE'
const USAGE = `${PERMISSION}=VENDOR/REGION npm run live -- VENDOR REGION NAME=VALUE ...`

const isVendor = (text: string): text is VendorName => Object.hasOwn(NETWORK, text)

export function livePlan(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  run: string = randomUUID(),
): LivePlan | LiveRefusal {
  const [vendor = '', region = '', ...pairs] = args
  const refused = (why: string): LiveRefusal => ({ kind: 'Refused', why: `${why}; ${USAGE}` })
  if (!isVendor(vendor))
    return refused(`vendor ${JSON.stringify(vendor)} is none of ${Object.keys(NETWORK).join(', ')}`)
  if (!/^[a-z0-9]+(-[a-z0-9]+)+$/.test(region)) return refused(`region ${JSON.stringify(region)} is none`)
  if (env[PERMISSION] !== `${vendor}/${region}`)
    return refused(`this creates a host that costs money: it needs ${PERMISSION}=${vendor}/${region}`)
  const params = new Map<string, string>()
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at < 1 || at === pair.length - 1) return refused(`parameter ${JSON.stringify(pair)} is not NAME=VALUE`)
    params.set(pair.slice(0, at), pair.slice(at + 1))
  }
  const missing = ['image', 'type', NETWORK[vendor], 'securityGroups'].filter((name) => !params.has(name))
  if (missing.length > 0) return refused(`parameters are missing: ${missing.join(', ')}`)
  const cluster = `kubenode-live-${run}`
  return {
    kind: 'Run',
    vendor,
    region,
    cluster,
    params: Object.fromEntries(params),
    says: [
      `creates one instance ${params.get('type')} with its disks in ${region} of ${vendor}, tagged kubenode.io/cluster=${cluster}`,
      'asks for it twice with the same token, reads, stops, starts and restarts it',
      'deletes it, and everything else with that tag, also when something fails or on Ctrl-C',
    ],
  }
}
