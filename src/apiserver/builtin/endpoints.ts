// Endpoints and endpoint slices: the addresses behind a service, kept for those who write and read them.
import { jsonEqual } from '#lib/json.ts'
import { invalid, notSupported, required } from './field-problem.ts'
import { listAt, number, shown, text, textsAt } from './fields.ts'
import type { BuiltinKind } from './kind.ts'
import { always, bool, int32, listOf, mapOf, pointer, str, struct, withDefault } from './shape.ts'
import { ageColumn, nameColumn } from './workload.ts'

const objectReference = pointer(
  struct(
    'ObjectReference',
    { kind: str, namespace: str, name: str, uid: str, apiVersion: str, resourceVersion: str, fieldPath: str },
    { 'x-kubernetes-map-type': 'atomic' },
  ),
)
const endpointAddress = struct(
  'EndpointAddress',
  { ip: always(str), hostname: str, nodeName: pointer(str), targetRef: objectReference },
  { 'x-kubernetes-map-type': 'atomic' },
)

export const endpoints: BuiltinKind = {
  type: { group: '', version: 'v1', kind: 'Endpoints', plural: 'endpoints', namespaced: true },
  singular: 'endpoints',
  shortNames: ['ep'],
  createOnUpdate: true,
  schema: {
    type: 'object',
    properties: {
      subsets: listOf(
        struct('EndpointSubset', {
          addresses: listOf(endpointAddress),
          notReadyAddresses: listOf(endpointAddress),
          ports: listOf(
            struct(
              'EndpointPort',
              { name: str, port: always(int32), protocol: withDefault(str, 'TCP'), appProtocol: pointer(str) },
              { 'x-kubernetes-map-type': 'atomic' },
            ),
          ),
        }),
      ),
    },
  },
  columns: [
    nameColumn,
    {
      name: 'Endpoints',
      type: 'string',
      cell: (o) => {
        const all = listAt(o, 'subsets').flatMap((s) =>
          listAt(s, 'addresses').flatMap((a) => listAt(s, 'ports').map((p) => `${text(a['ip'])}:${number(p['port'])}`)),
        )
        return all.length === 0
          ? '<none>'
          : all.length > 3
            ? `${all.slice(0, 3).join(',')} + ${all.length - 3} more...`
            : all.join(',')
      },
    },
    ageColumn,
  ],
  warnings: () => ['v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'],
}

export const endpointSlice: BuiltinKind = {
  type: { group: 'discovery.k8s.io', version: 'v1', kind: 'EndpointSlice', plural: 'endpointslices', namespaced: true },
  singular: 'endpointslice',
  generation: true,
  schema: {
    type: 'object',
    properties: {
      addressType: always(str),
      endpoints: always(
        listOf(
          struct('Endpoint', {
            addresses: always(listOf(str, { 'x-kubernetes-list-type': 'set' })),
            conditions: always(
              struct('EndpointConditions', {
                ready: pointer(bool),
                serving: pointer(bool),
                terminating: pointer(bool),
              }),
            ),
            hostname: pointer(str),
            targetRef: objectReference,
            deprecatedTopology: mapOf(str),
            nodeName: pointer(str),
            zone: pointer(str),
            hints: pointer(
              struct('EndpointHints', {
                forZones: listOf(struct('ForZone', { name: always(str) })),
                forNodes: listOf(struct('ForNode', { name: always(str) })),
              }),
            ),
          }),
        ),
      ),
      ports: always(
        listOf(
          struct(
            'EndpointPort',
            {
              name: withDefault(pointer(str), ''),
              protocol: withDefault(pointer(str), 'TCP'),
              port: pointer(int32),
              appProtocol: pointer(str),
            },
            { 'x-kubernetes-map-type': 'atomic' },
          ),
        ),
      ),
    },
  },
  columns: [
    nameColumn,
    { name: 'AddressType', type: 'string', cell: (o) => text(o['addressType']) },
    {
      name: 'Ports',
      type: 'string',
      cell: (o) =>
        shown(
          listAt(o, 'ports')
            .map((p) => String(number(p['port'])))
            .join(','),
        ),
    },
    {
      name: 'Endpoints',
      type: 'string',
      cell: (o) =>
        shown(
          listAt(o, 'endpoints')
            .flatMap((e) => textsAt(e, 'addresses'))
            .slice(0, 3)
            .join(','),
        ),
    },
    ageColumn,
  ],
  validate: (o, old) =>
    !['IPv4', 'IPv6', 'FQDN'].includes(text(o['addressType']))
      ? [
          text(o['addressType']) === ''
            ? required('addressType')
            : notSupported('addressType', o['addressType'], ['FQDN', 'IPv4', 'IPv6']),
        ]
      : old !== undefined && !jsonEqual(o['addressType'], old['addressType'])
        ? [invalid('addressType', o['addressType'], 'field is immutable')]
        : [],
}
