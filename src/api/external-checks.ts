// Requests and queries to other systems, as conditions for the next step. Shared by sets and pipelines.
import { fallback, int, obj, optional, rule, str } from './build.ts'
import { secretRef, url } from './fields.ts'

const request = {
  url: url('URL to call. Addresses of this host, of its link and of the credentials of clouds are refused.'),
  expectedStatus: fallback(int('The status code.', { min: 100, max: 599 }), 200),
}

export const httpCheck = () => obj('A request that must return this status.', request)

const OF_GATES = 'A Secret in kubenode-clusters, labeled kubenode.io/for-gates=true'

/** With fields that only sync can read. */
export const httpGate = () =>
  obj('A request that must return this status.', {
    ...request,
    tokenSecretRef: optional(
      secretRef(
        `${OF_GATES}, with the bearer token (key token, if absent). It is sent only to places that sync is started with (--call-allow).`,
      ),
    ),
    caSecretRef: optional(
      secretRef(`${OF_GATES}, with the authority of the certificate of the server as PEM (key ca.crt, if absent).`),
    ),
  })

const decimal = (doc: string) =>
  str(doc, { min: 1, max: 32, pattern: '^-?[0-9]+(\\.[0-9]+)?$', expects: 'a decimal number' })

export const queryCheck = () =>
  rule(
    obj('A query whose result must be within bounds.', {
      query: str('The PromQL query; it must return a single value.', { min: 1, max: 4_096 }),
      min: optional(decimal('Smallest accepted value, as text.')),
      max: optional(decimal('Largest accepted value, as text.')),
    }),
    {
      cel: 'has(self.min) && has(self.max) ? double(self.min) <= double(self.max) : true',
      message: 'min must not be above max: no value passes',
      fieldPath: '.min',
      holds: ({ min, max }) => min === undefined || max === undefined || Number(min) <= Number(max),
    },
  )
