// What a vendor's refusal means for other requests: a lack of one pool's own subnet, price or placement group says nothing about the rest of the zone.
import { describe, expect, test } from 'vitest'
import { ECS } from '../alicloud/dialect.ts'
import { EC2 } from '../aws/dialect.ts'
import { createAccount } from './account.ts'
import type { CallResult } from './call.ts'
import type { MakeResult } from './hosts.ts'

const refusing = (code: string) => async (): Promise<CallResult> => ({ kind: 'Code', code, message: 'no' })

const order = (params: Record<string, string>) => ({
  clientToken: 'token',
  machine: 'm',
  machineUid: 'uid',
  offering: { zone: 'z-1', type: 'big', market: 'Spot' as const },
  params,
  join: { server: '', caData: '', token: '', machine: 'm', node: 'm', cluster: 'c', artifactBase: '' } as never,
  userData: '',
})

const AWS = { image: 'ami-1', subnets: 'subnet-1', securityGroups: 'sg-1' }
const ALICLOUD = { image: 'm-1', vSwitches: 'vsw-1', securityGroups: 'sg-1' }
const onAws = (code: string, params: object = {}): Promise<MakeResult> =>
  createAccount(EC2, { region: 'r', cluster: 'c', call: refusing(code) }).make(order({ ...AWS, ...params }))
const onAlicloud = (code: string, params: object = {}): Promise<MakeResult> =>
  createAccount(ECS, { region: 'r', cluster: 'c', call: refusing(code) }).make(order({ ...ALICLOUD, ...params }))

/** The zone and type that every request of the provider waits for; none: only requests like this one wait. */
const outOf = (made: MakeResult): readonly unknown[] =>
  made.kind === 'Exhausted' ? [made.zone, made.type] : [made.kind, made]

describe('what is exhausted', () => {
  test.each([
    ['no stock', 'InsufficientInstanceCapacity', ['z-1', 'big']],
    ['no quota for the type', 'VcpuLimitExceeded', [undefined, 'big']],
  ])('%s is so for all requests at AWS', async (_, code, out) => {
    expect(outOf(await onAws(code))).toEqual(out)
  })

  test.each([
    ['addresses of its subnet', 'InsufficientFreeAddressesInSubnet', {}],
    ['hosts at its price', 'SpotMaxPriceTooLow', { spotPrice: '0.01' }],
    ['stock in its placement group', 'InsufficientInstanceCapacity', { placementGroup: 'near' }],
  ])('%s are only exhausted for requests like it at AWS', async (_, code, params) => {
    expect(outOf(await onAws(code, params))).toEqual([undefined, undefined])
  })

  test.each([
    ['addresses of its vSwitch', 'InvalidVSwitchId.IpNotEnough', {}],
    ['disks of its kind', 'QuotaExceed.DiskCapacity', {}],
    ['stock in its deployment set', 'OperationDenied.NoStock', { deploymentSet: 'ds-1' }],
  ])('%s are only exhausted for requests like it at Alibaba Cloud', async (_, code, params) => {
    expect(outOf(await onAlicloud(code, params))).toEqual([undefined, undefined])
  })

  test('a zone that is not on sale is closed for all requests at Alibaba Cloud', async () => {
    expect(outOf(await onAlicloud('Zone.NotOnSale'))).toEqual(['z-1', undefined])
  })
})
