// Which labels of its Node a kubelet may set: those that describe the host, and all that are not Kubernetes' own.

const ALLOWED: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
])
const ALLOWED_DOMAINS = ['kubelet.kubernetes.io', 'node.kubernetes.io']
const OWN_DOMAINS = ['kubernetes.io', 'k8s.io']

const isWithin = (domain: string, parents: readonly string[]): boolean =>
  parents.some((p) => domain === p || domain.endsWith(`.${p}`))

function isReserved(label: string): boolean {
  const slash = label.indexOf('/')
  if (slash < 0 || ALLOWED.has(label)) return false
  const domain = label.slice(0, slash)
  return isWithin(domain, OWN_DOMAINS) && !isWithin(domain, ALLOWED_DOMAINS)
}

type Labels = Readonly<Record<string, string>>

/** Those that were added, changed or removed and are not a kubelet's to write. */
export function reservedLabels(before: Labels, after: Labels): readonly string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...keys].filter((k) => before[k] !== after[k] && isReserved(k)).toSorted()
}
