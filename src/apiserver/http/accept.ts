// In which form and encoding the client wants its answer.
import { MEDIA_TYPES, notAcceptable } from '../status/refusal.ts'

export interface AcceptedForm {
  readonly encoding: 'json' | 'yaml'
  readonly as: 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'
  /** For discovery: the aggregated document. */
  readonly discovery: boolean
}

const PLAIN: AcceptedForm = { encoding: 'json', as: 'object', discovery: false }
const FORMS = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'] as const

/** The first clause that we can serve; protobuf is skipped, clients that ask for it name JSON too. */
export function acceptedForm(header: string | undefined): AcceptedForm {
  if (header === undefined || header === '' || header === 'application/json' || header === '*/*') return PLAIN
  for (const clause of header.split(',')) {
    const form = formOf(clause)
    if (form !== undefined) return form
  }
  // an unsupported form and an unsupported encoding are different errors
  const isWritable = header
    .split(',')
    .some((clause) => encodingOf((clause.split(';', 1)[0] ?? '').trim().toLowerCase()))
  throw isWritable ? notAcceptable() : notAcceptable(`406: Not Acceptable\n\nAvailable representations: ${MEDIA_TYPES}`)
}

function formOf(clause: string): AcceptedForm | undefined {
  const [media = '', ...rest] = clause.split(';').map((p) => p.trim())
  const encoding = encodingOf(media.toLowerCase())
  if (encoding === undefined) return undefined
  const params = new Map(rest.map((p): [string, string] => [p.split('=')[0] ?? '', p.split('=')[1] ?? '']))
  const as = params.get('as')
  if (as === undefined) return { ...PLAIN, encoding }
  if (params.get('g') === 'apidiscovery.k8s.io')
    return as === 'APIGroupDiscoveryList' && params.get('v') === 'v2'
      ? { ...PLAIN, encoding, discovery: true }
      : undefined
  const known = FORMS.find((f) => f === as)
  const version = params.get('v')
  if (known === undefined || params.get('g') !== 'meta.k8s.io') return undefined
  return version === 'v1' || version === 'v1beta1' ? { ...PLAIN, encoding, as: known } : undefined
}

function encodingOf(media: string): AcceptedForm['encoding'] | undefined {
  switch (media) {
    case 'application/json':
    case '*/*':
    case 'application/*':
      return 'json'
    case 'application/yaml':
      return 'yaml'
    default:
      return undefined
  }
}
