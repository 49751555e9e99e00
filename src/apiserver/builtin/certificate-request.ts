// Requests for certificates: written once, approved or denied, then signed.
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { ageText } from '../table/age.ts'
import { ageColumn, nameColumn, text } from './core-columns.ts'
import { duplicate, forbidden, immutable, invalid, notSupported, required, type FieldProblem } from './field-problem.ts'
import type { BuiltinKind } from './kind.ts'
import * as s from './shape.ts'

const USAGES = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
]
const SHORTEST_SECONDS = 600

type Fields = Readonly<Record<string, unknown>>
const at = (o: KubeObject, field: string): Fields => {
  const v = o[field]
  return isObject(v) ? v : {}
}
const conditionsOf = (o: KubeObject): readonly Fields[] => {
  const v = at(o, 'status')['conditions']
  return Array.isArray(v) ? v.filter(isObject) : []
}
export const hasCondition = (o: KubeObject, type: string): boolean =>
  conditionsOf(o).some((c) => c['type'] === type && c['status'] === 'True')

function state(o: KubeObject): string {
  const types = conditionsOf(o).map((c) => c['type'])
  const word = types.includes('Denied') ? 'Denied' : types.includes('Approved') ? 'Approved' : 'Pending'
  const more = [
    word,
    ...(types.includes('Failed') ? ['Failed'] : []),
    ...(at(o, 'status')['certificate'] === undefined ? [] : ['Issued']),
  ]
  return more.join(',')
}

const LEGACY = 'kubernetes.io/legacy-unknown'

function specProblems(o: KubeObject): FieldProblem[] {
  const spec = at(o, 'spec')
  const out: FieldProblem[] = []
  const request = typeof spec['request'] === 'string' ? Buffer.from(spec['request'], 'base64').toString('utf8') : ''
  if (!/-----BEGIN CERTIFICATE REQUEST-----/.test(request))
    out.push(invalid('spec.request', spec['request'] ?? '', 'PEM block type must be CERTIFICATE REQUEST'))
  const signer = String(spec['signerName'] ?? '')
  if (signer === '') out.push(required('spec.signerName'))
  else if (!/^[a-z0-9.-]+\/[^/]+(\/[^/]+)*$/.test(signer) || !signer.split('/')[0]?.includes('.'))
    out.push(
      invalid(
        'spec.signerName',
        signer,
        "must be a fully qualified domain and path of the form 'example.com/signer-name'",
      ),
    )
  if (signer === LEGACY)
    out.push(invalid('spec.signerName', signer, 'the legacy signerName is not allowed via this API version'))
  const usages = Array.isArray(spec['usages']) ? spec['usages'].map(String) : []
  if (usages.length === 0) out.push(required('spec.usages'))
  for (const [i, u] of usages.entries()) {
    if (!USAGES.includes(u)) out.push(notSupported(`spec.usages[${i}]`, u, USAGES))
    if (usages.indexOf(u) < i) out.push(duplicate(`spec.usages[${i}]`, u))
  }
  const seconds = spec['expirationSeconds']
  if (typeof seconds === 'number' && seconds < SHORTEST_SECONDS)
    out.push(
      invalid(
        'spec.expirationSeconds',
        seconds,
        `may not specify a duration less than ${SHORTEST_SECONDS} seconds (10 minutes)`,
      ),
    )
  return out
}

/** The subresource decides which fields may change; the core restores the rest. */
export function conditionProblems(o: KubeObject, old: KubeObject, approval: boolean): FieldProblem[] {
  const out: FieldProblem[] = []
  const before = conditionsOf(old)
  const now = conditionsOf(o)
  for (const [i, c] of now.entries()) {
    const field = `status.conditions[${i}]`
    if ((c['type'] ?? '') === '') out.push(required(`${field}.type`))
    if ((c['type'] === 'Approved' || c['type'] === 'Denied' || c['type'] === 'Failed') && c['status'] !== 'True') {
      if ((c['status'] ?? '') === '') out.push(required(`${field}.status`))
      else out.push(notSupported(`${field}.status`, c['status'], ['True']))
    }
  }
  const types = now.map((c) => c['type'])
  if (types.includes('Approved') && types.includes('Denied')) {
    const i = Math.max(types.indexOf('Approved'), types.indexOf('Denied'))
    out.push(invalid('status.conditions', types[i], 'Approved and Denied conditions are mutually exclusive'))
  }
  for (const c of before) {
    const kept = now.some((n) => n['type'] === c['type'])
    if (!kept && (c['type'] === 'Approved' || c['type'] === 'Denied' || c['type'] === 'Failed'))
      out.push(
        forbidden('status.conditions', `updates may not remove a condition of type ${JSON.stringify(c['type'])}`),
      )
  }
  if (!approval) {
    for (const type of ['Approved', 'Denied'])
      if (types.includes(type) && !before.some((c) => c['type'] === type))
        out.push(forbidden('status.conditions', `updates may not add a condition of type ${JSON.stringify(type)}`))
  }
  return out
}

const hasCertificate = (v: unknown): boolean =>
  typeof v === 'string' && Buffer.from(v, 'base64').toString('latin1').includes('-----BEGIN CERTIFICATE-----')

export const certificateSigningRequest: BuiltinKind = {
  type: {
    group: 'certificates.k8s.io',
    version: 'v1',
    kind: 'CertificateSigningRequest',
    plural: 'certificatesigningrequests',
    namespaced: false,
  },
  shortNames: ['csr'],
  subresources: ['approval', 'status'],
  nameRule: 'pathSegment',
  schema: s.struct('CertificateSigningRequest', {
    spec: s.always(
      s.struct('CertificateSigningRequestSpec', {
        request: s.always(s.bytes),
        signerName: s.always(s.str),
        expirationSeconds: s.pointer(s.int32),
        usages: s.listOf(s.str),
        username: s.str,
        uid: s.str,
        groups: s.listOf(s.str),
        extra: s.mapOf(s.listOf(s.str)),
      }),
    ),
    status: s.always(
      s.struct('CertificateSigningRequestStatus', {
        conditions: s.mapList(
          ['type'],
          s.struct('CertificateSigningRequestCondition', {
            type: s.always(s.str),
            status: s.always(s.str),
            reason: s.str,
            message: s.str,
            lastUpdateTime: s.always(s.time),
            lastTransitionTime: s.always(s.time),
          }),
        ),
        certificate: s.bytes,
      }),
    ),
  }),
  columns: [
    nameColumn,
    ageColumn,
    text('SignerName', (o) => String(at(o, 'spec')['signerName'] ?? '')),
    text('Requestor', (o) => String(at(o, 'spec')['username'] ?? '')),
    text('RequestedDuration', (o) => {
      const s = at(o, 'spec')['expirationSeconds']
      return typeof s === 'number' ? ageText(s) : '<none>'
    }),
    text('Condition', state),
  ],
  selectableFields: { 'spec.signerName': (o) => String(at(o, 'spec')['signerName'] ?? '') },
  prepareForCreate: (o, { user }) => ({
    ...o,
    spec: {
      ...at(o, 'spec'),
      username: user.name,
      ...(user.uid === undefined ? {} : { uid: user.uid }),
      groups: user.groups,
      ...(user.extra === undefined ? {} : { extra: user.extra }),
    },
    status: {},
  }),
  prepareForUpdate: (o, old) => ({ ...o, spec: old['spec'] }),
  validate: (o, old) => [
    ...(old === undefined ? specProblems(o) : []),
    ...(old !== undefined && !jsonEqual(o['spec'], old['spec']) ? [immutable('spec', o['spec'])] : []),
  ],
  validateStatus: (o, old) => [
    ...conditionProblems(o, old, false),
    ...(at(o, 'status')['certificate'] === undefined || hasCertificate(at(o, 'status')['certificate'])
      ? []
      : [invalid('status.certificate', '<certificate data>', 'must contain at least one CERTIFICATE PEM block')]),
    ...(at(old, 'status')['certificate'] !== undefined &&
    at(o, 'status')['certificate'] !== at(old, 'status')['certificate']
      ? [invalid('status.certificate', at(o, 'status')['certificate'] ?? '', 'updates may not change certificate')]
      : []),
  ],
}
