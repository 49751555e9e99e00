// Ingresses, network policies, address records: kept for the programs that list them; nothing here routes or filters.
import { text } from './core-columns.ts'
import { fields, listAt, shown, specOf, statusOf, text as textOf, textsAt } from './fields.ts'
import { keptKind, typeIn } from './kept-kind.ts'
import * as s from './shape.ts'
import { selectorText } from './workload.ts'

const networking = typeIn('networking.k8s.io')

const localObject = s.struct(
  'TypedLocalObjectReference',
  { apiGroup: s.pointer(s.str), kind: s.always(s.str), name: s.always(s.str) },
  { 'x-kubernetes-map-type': 'atomic', 'x-go-field': 'pointer' },
)
const backend = {
  service: s.pointer(
    s.struct('IngressServiceBackend', {
      name: s.always(s.str),
      port: s.struct('ServiceBackendPort', { name: s.str, number: s.int32 }, { 'x-kubernetes-map-type': 'atomic' }),
    }),
  ),
  resource: localObject,
}
const ingressBackend = s.struct('IngressBackend', backend)

const ingress = keptKind({
  type: networking('Ingress', 'ingresses', true),
  shortNames: ['ing'],
  generation: true,
  properties: {
    spec: s.always(
      s.struct('IngressSpec', {
        ingressClassName: s.pointer(s.str),
        defaultBackend: s.pointer(ingressBackend),
        tls: s.listOf(s.struct('IngressTLS', { hosts: s.listOf(s.str), secretName: s.str })),
        rules: s.listOf(
          s.struct('IngressRule', {
            host: s.str,
            http: s.pointer(
              s.struct('HTTPIngressRuleValue', {
                paths: s.always(
                  s.listOf(
                    s.struct('HTTPIngressPath', {
                      path: s.str,
                      pathType: s.pointer(s.str),
                      backend: s.always(ingressBackend),
                    }),
                  ),
                ),
              }),
            ),
          }),
        ),
      }),
    ),
    status: s.always(
      s.struct('IngressStatus', {
        loadBalancer: s.always(
          s.struct('IngressLoadBalancerStatus', {
            ingress: s.listOf(
              s.struct('IngressLoadBalancerIngress', {
                ip: s.str,
                hostname: s.str,
                ports: s.listOf(
                  s.struct('IngressPortStatus', {
                    port: s.always(s.int32),
                    protocol: s.always(s.str),
                    error: s.pointer(s.str),
                  }),
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
    spec: s.always(
      s.struct('IngressClassSpec', {
        controller: s.str,
        parameters: s.pointer(
          s.struct('IngressClassParametersReference', {
            apiGroup: s.pointer(s.str),
            kind: s.always(s.str),
            name: s.always(s.str),
            scope: s.pointer(s.str),
            namespace: s.pointer(s.str),
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

const peers = s.listOf(
  s.struct('NetworkPolicyPeer', {
    podSelector: s.labelSelector,
    namespaceSelector: s.labelSelector,
    ipBlock: s.pointer(s.struct('IPBlock', { cidr: s.always(s.str), except: s.listOf(s.str) })),
  }),
)
const ports = s.listOf(
  s.struct('NetworkPolicyPort', { protocol: s.pointer(s.str), port: s.intOrString, endPort: s.pointer(s.int32) }),
)

const networkPolicy = keptKind({
  type: networking('NetworkPolicy', 'networkpolicies', true),
  shortNames: ['netpol'],
  generation: true,
  properties: {
    spec: s.always(
      s.struct('NetworkPolicySpec', {
        podSelector: s.always({ ...s.labelSelector, 'x-go-field': 'always' }),
        ingress: s.listOf(s.struct('NetworkPolicyIngressRule', { ports, from: peers })),
        egress: s.listOf(s.struct('NetworkPolicyEgressRule', { ports, to: peers })),
        policyTypes: s.listOf(s.str),
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
    spec: s.always(
      s.struct('IPAddressSpec', {
        parentRef: s.pointer(
          s.struct('ParentReference', { group: s.str, resource: s.str, namespace: s.str, name: s.str }),
        ),
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
    spec: s.always(s.struct('ServiceCIDRSpec', { cidrs: s.listOf(s.str) })),
    status: s.always(s.struct('ServiceCIDRStatus', { conditions: s.conditions })),
  },
  shows: [text('CIDRs', (o) => textsAt(specOf(o), 'cidrs').join(','))],
})

export const networkKinds = [ingress, ingressClass, networkPolicy, ipAddress, serviceCidr] as const
