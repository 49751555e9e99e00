// Endpoints and endpoint slices: the addresses behind a service, kept for those who write and read them.
import { jsonEqual } from '#lib/json.ts'
import { invalid, notSupported, required } from './field-problem.ts'
import { listAt, number, shown, text, textsAt } from './fields.ts'
import type { BuiltinKind } from './kind.ts'
import * as s from './shape.ts'
import { ageColumn, nameColumn } from './workload.ts'

const objectReference = s.pointer(s.objectReference({ 'x-kubernetes-map-type': 'atomic' }))
const endpointAddress = s.struct(
  'EndpointAddress',
  { ip: s.always(s.str), hostname: s.str, nodeName: s.pointer(s.str), targetRef: objectReference },
  { 'x-kubernetes-map-type': 'atomic' },
)

export const endpoints: BuiltinKind = {
  type: { group: '', version: 'v1', kind: 'Endpoints', plural: 'endpoints', namespaced: true },
  shortNames: ['ep'],
  createOnUpdate: true,
  schema: {
    type: 'object',
    properties: {
      subsets: s.listOf(
        s.struct('EndpointSubset', {
          addresses: s.listOf(endpointAddress),
          notReadyAddresses: s.listOf(endpointAddress),
          ports: s.listOf(
            s.struct(
              'EndpointPort',
              {
                name: s.str,
                port: s.always(s.int32),
                protocol: s.withDefault(s.str, 'TCP'),
                appProtocol: s.pointer(s.str),
              },
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
  generation: true,
  schema: {
    type: 'object',
    properties: {
      addressType: s.always(s.str),
      endpoints: s.always(
        s.listOf(
          s.struct('Endpoint', {
            addresses: s.always(s.listOf(s.str, { 'x-kubernetes-list-type': 'set' })),
            conditions: s.always(
              s.struct('EndpointConditions', {
                ready: s.pointer(s.bool),
                serving: s.pointer(s.bool),
                terminating: s.pointer(s.bool),
              }),
            ),
            hostname: s.pointer(s.str),
            targetRef: objectReference,
            deprecatedTopology: s.mapOf(s.str),
            nodeName: s.pointer(s.str),
            zone: s.pointer(s.str),
            hints: s.pointer(
              s.struct('EndpointHints', {
                forZones: s.listOf(s.struct('ForZone', { name: s.always(s.str) })),
                forNodes: s.listOf(s.struct('ForNode', { name: s.always(s.str) })),
              }),
            ),
          }),
        ),
      ),
      ports: s.always(
        s.listOf(
          s.struct(
            'EndpointPort',
            {
              name: s.withDefault(s.pointer(s.str), ''),
              protocol: s.withDefault(s.pointer(s.str), 'TCP'),
              port: s.pointer(s.int32),
              appProtocol: s.pointer(s.str),
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
