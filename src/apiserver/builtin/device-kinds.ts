// Devices and the claims to them, which the scheduler and kubelets list. Stored without any effect.
import type { KubeObject } from '#api/schema/object.ts'
import { text } from './core-columns.ts'
import { fields, listAt, specOf, statusOf, text as textOf } from './fields.ts'
import { keptKind, typeIn } from './kept-kind.ts'
import * as s from './shape.ts'

const resource = typeIn('resource.k8s.io')
const deviceSelectors = s.listOf(
  s.struct('DeviceSelector', { cel: s.pointer(s.struct('CELDeviceSelector', { expression: s.always(s.str) })) }),
)
const opaque = s.pointer(
  s.struct('OpaqueDeviceConfiguration', { driver: s.always(s.str), parameters: s.always(s.anything) }),
)
const deviceTolerations = s.listOf(
  s.struct('DeviceToleration', {
    key: s.str,
    operator: s.str,
    value: s.str,
    effect: s.str,
    tolerationSeconds: s.pointer(s.int64),
  }),
)
const request = {
  deviceClassName: s.str,
  selectors: deviceSelectors,
  allocationMode: s.str,
  count: s.int64,
  adminAccess: s.pointer(s.bool),
  tolerations: deviceTolerations,
  capacity: s.pointer(s.struct('CapacityRequirements', { requests: s.mapOf(s.quantity) })),
}
const claimSpec = s.struct('ResourceClaimSpec', {
  devices: s.struct('DeviceClaim', {
    requests: s.listOf(
      s.struct('DeviceRequest', {
        name: s.always(s.str),
        exactly: s.pointer(s.struct('ExactDeviceRequest', request)),
        firstAvailable: s.listOf(s.struct('DeviceSubRequest', { name: s.always(s.str), ...request })),
      }),
    ),
    constraints: s.listOf(
      s.struct('DeviceConstraint', {
        requests: s.listOf(s.str),
        matchAttribute: s.pointer(s.str),
        distinctAttribute: s.pointer(s.str),
      }),
    ),
    config: s.listOf(s.struct('DeviceClaimConfiguration', { requests: s.listOf(s.str), opaque })),
  }),
})

const deviceClass = keptKind({
  type: resource('DeviceClass', 'deviceclasses', false),
  generation: true,
  properties: {
    spec: s.always(
      s.struct('DeviceClassSpec', {
        selectors: deviceSelectors,
        config: s.listOf(s.struct('DeviceClassConfiguration', { opaque })),
        extendedResourceName: s.pointer(s.str),
      }),
    ),
  },
})

function claimState(o: KubeObject): string {
  const { allocation } = statusOf(o)
  const isReserved = listAt(statusOf(o), 'reservedFor').length > 0
  const state = allocation === undefined ? 'pending' : isReserved ? 'allocated,reserved' : 'allocated'
  return o.metadata.deletionTimestamp === undefined ? state : `deleted,${state}`
}

const resourceClaim = keptKind({
  type: resource('ResourceClaim', 'resourceclaims', true),
  shows: [text('State', claimState)],
  properties: {
    spec: s.always(claimSpec),
    status: s.always(
      s.struct('ResourceClaimStatus', {
        allocation: s.pointer(s.anything),
        reservedFor: s.mapList(
          ['uid'],
          s.struct('ResourceClaimConsumerReference', {
            apiGroup: s.str,
            resource: s.always(s.str),
            name: s.always(s.str),
            uid: s.always(s.str),
          }),
        ),
        devices: s.listOf(s.anything),
      }),
    ),
  },
})

const resourceClaimTemplate = keptKind({
  type: resource('ResourceClaimTemplate', 'resourceclaimtemplates', true),
  properties: {
    spec: s.always(
      s.struct('ResourceClaimTemplateSpec', { metadata: s.pointer(s.anything), spec: s.always(claimSpec) }),
    ),
  },
})

const resourceSlice = keptKind({
  type: resource('ResourceSlice', 'resourceslices', false),
  generation: true,
  properties: {
    spec: s.always(
      s.struct('ResourceSliceSpec', {
        driver: s.always(s.str),
        pool: s.always(
          s.struct('ResourcePool', {
            name: s.always(s.str),
            generation: s.always(s.int64),
            resourceSliceCount: s.always(s.int64),
          }),
        ),
        nodeName: s.pointer(s.str),
        nodeSelector: s.pointer(s.anything),
        allNodes: s.pointer(s.bool),
        devices: s.listOf(s.anything),
        perDeviceNodeSelection: s.pointer(s.bool),
        sharedCounters: s.listOf(s.anything),
      }),
    ),
  },
  selectableFields: {
    'spec.nodeName': (o) => textOf(specOf(o)['nodeName']),
    'spec.driver': (o) => textOf(specOf(o)['driver']),
  },
  shows: [
    text('Node', (o) => textOf(specOf(o)['nodeName'])),
    text('Driver', (o) => textOf(specOf(o)['driver'])),
    text('Pool', (o) => textOf(fields(specOf(o)['pool'])['name'])),
  ],
})

export const deviceKinds = [deviceClass, resourceClaim, resourceClaimTemplate, resourceSlice] as const
