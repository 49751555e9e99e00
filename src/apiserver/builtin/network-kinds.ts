// Ingresses, network policies, address records: kept for the programs that list them; nothing here routes or filters.
import { text } from './core-columns.ts'
import { fields, listAt, shown, specOf, statusOf, text as textOf, textsAt } from './fields.ts'
import { keptKind, typeIn } from './kept-kind.ts'
import { always, conditions, int32, intOrString, labelSelector, listOf, pointer, str, struct } from './shape.ts'
import { selectorText } from './workload.ts'

const networking = typeIn('networking.k8s.io')

const localObject = struct(
  'TypedLocalObjectReference',
  { apiGroup: pointer(str), kind: always(str), name: always(str) },
  { 'x-kubernetes-map-type': 'atomic', 'x-go-field': 'pointer' },
)
const backend = {
  service: pointer(
    struct('IngressServiceBackend', {
      name: always(str),
      port: struct('ServiceBackendPort', { name: str, number: int32 }, { 'x-kubernetes-map-type': 'atomic' }),
    }),
  ),
  resource: localObject,
}
const ingressBackend = struct('IngressBackend', backend)

const ingress = keptKind({
  type: networking('Ingress', 'ingresses', true),
  shortNames: ['ing'],
  generation: true,
  properties: {
    spec: always(
      struct('IngressSpec', {
        ingressClassName: pointer(str),
        defaultBackend: pointer(ingressBackend),
        tls: listOf(struct('IngressTLS', { hosts: listOf(str), secretName: str })),
        rules: listOf(
          struct('IngressRule', {
            host: str,
            http: pointer(
              struct('HTTPIngressRuleValue', {
                paths: always(
                  listOf(
                    struct('HTTPIngressPath', { path: str, pathType: pointer(str), backend: always(ingressBackend) }),
                  ),
                ),
              }),
            ),
          }),
        ),
      }),
    ),
    status: always(
      struct('IngressStatus', {
        loadBalancer: always(
          struct('IngressLoadBalancerStatus', {
            ingress: listOf(
              struct('IngressLoadBalancerIngress', {
                ip: str,
                hostname: str,
                ports: listOf(
                  struct('IngressPortStatus', { port: always(int32), protocol: always(str), error: pointer(str) }),
                ),
              }),
            ),
          }),
        ),
      }),
    ),
  },
  shows: [
    text('Class', (o) => shown(specOf(o)['ingressClassName'])),
    text(
      'Hosts',
      (o) =>
        listAt(specOf(o), 'rules')
          .map((r) => textOf(r['host']) || '*')
          .join(',') || '*',
    ),
    text('Address', (o) =>
      listAt(fields(statusOf(o)['loadBalancer']), 'ingress')
        .map((i) => textOf(i['ip']) || textOf(i['hostname']))
        .join(','),
    ),
    text('Ports', (o) => (listAt(specOf(o), 'tls').length > 0 ? '80, 443' : '80')),
  ],
})

const ingressClass = keptKind({
  type: networking('IngressClass', 'ingressclasses', false),
  generation: true,
  properties: {
    spec: always(
      struct('IngressClassSpec', {
        controller: str,
        parameters: pointer(
          struct('IngressClassParametersReference', {
            apiGroup: pointer(str),
            kind: always(str),
            name: always(str),
            scope: pointer(str),
            namespace: pointer(str),
          }),
        ),
      }),
    ),
  },
  shows: [
    text('Controller', (o) => textOf(specOf(o)['controller'])),
    text('Parameters', (o) => {
      const p = fields(specOf(o)['parameters'])
      if (p['name'] === undefined) return '<none>'
      const group = textOf(p['apiGroup'])
      return `${textOf(p['kind'])}${group === '' ? '' : `.${group}`}/${textOf(p['name'])}`
    }),
  ],
})

const peers = listOf(
  struct('NetworkPolicyPeer', {
    podSelector: labelSelector,
    namespaceSelector: labelSelector,
    ipBlock: pointer(struct('IPBlock', { cidr: always(str), except: listOf(str) })),
  }),
)
const ports = listOf(
  struct('NetworkPolicyPort', { protocol: pointer(str), port: intOrString, endPort: pointer(int32) }),
)

const networkPolicy = keptKind({
  type: networking('NetworkPolicy', 'networkpolicies', true),
  shortNames: ['netpol'],
  generation: true,
  properties: {
    spec: always(
      struct('NetworkPolicySpec', {
        podSelector: always({ ...labelSelector, 'x-go-field': 'always' }),
        ingress: listOf(struct('NetworkPolicyIngressRule', { ports, from: peers })),
        egress: listOf(struct('NetworkPolicyEgressRule', { ports, to: peers })),
        policyTypes: listOf(str),
      }),
    ),
  },
  applyDefaults: (o) => {
    const spec = specOf(o)
    if (spec['policyTypes'] !== undefined && spec['policyTypes'] !== null) return o
    const policyTypes = ['Ingress', ...(listAt(spec, 'egress').length > 0 ? ['Egress'] : [])]
    return { ...o, spec: { ...spec, policyTypes } }
  },
  shows: [text('Pod-Selector', (o) => selectorText(specOf(o)['podSelector']))],
})

const ipAddress = keptKind({
  type: networking('IPAddress', 'ipaddresses', false),
  shortNames: ['ip'],
  properties: {
    spec: always(
      struct('IPAddressSpec', {
        parentRef: pointer(struct('ParentReference', { group: str, resource: str, namespace: str, name: str })),
      }),
    ),
  },
  shows: [
    text('ParentRef', (o) => {
      const p = fields(specOf(o)['parentRef'])
      const plural = [textOf(p['resource']), textOf(p['group'])].filter((s) => s !== '').join('.')
      return [plural, textOf(p['namespace']), textOf(p['name'])].filter((s) => s !== '').join('/')
    }),
  ],
  ageless: true,
})

const serviceCidr = keptKind({
  type: networking('ServiceCIDR', 'servicecidrs', false),
  generation: true,
  properties: {
    spec: always(struct('ServiceCIDRSpec', { cidrs: listOf(str) })),
    status: always(struct('ServiceCIDRStatus', { conditions })),
  },
  shows: [text('CIDRs', (o) => textsAt(specOf(o), 'cidrs').join(','))],
})

export const networkKinds = [ingress, ingressClass, networkPolicy, ipAddress, serviceCidr] as const
