// What the codes of Alibaba Cloud mean for a host that was to be made. Only codes that are listed here mean anything: whatever else comes leaves it open whether there is a host.
import type { Meaning } from '../cloud/make-result.ts'

const MEANINGS: Readonly<Record<string, Meaning>> = {
  'OperationDenied.NoStock': 'NoneThere',
  ResourceNotAvailable: 'NoneThere',
  'InvalidInstanceType.ZoneNotSupported': 'NoneThere',
  'InvalidResourceType.NotSupported': 'NoneThere',
  'Zone.NotOnSale': 'NoneInZone',
  'Zone.NotOpen': 'NoneInZone',
  'OperationDenied.ZoneNotAllowed': 'NoneInZone',
  'InvalidVSwitchId.IpNotEnough': 'NoneInZone',
  'QuotaExceed.DiskCapacity': 'NoneInZone',
  'QuotaExceed.ElasticQuota': 'NoneOfType',
  'InvalidAccountStatus.NotEnoughBalance': 'Refused',
  'Forbidden.RAM': 'Refused',
  'Forbidden.RiskControl': 'Refused',
  'QuotaExceed.Instance': 'Refused',
  'InvalidImageId.NotFound': 'Refused',
  'InvalidImageId.NotSupported': 'Refused',
  'InvalidInstanceType.NotFound': 'Refused',
  'InvalidInstanceType.ValueNotSupported': 'Refused',
  'InvalidSecurityGroupId.NotFound': 'Refused',
  'InvalidSecurityGroupId.VPCMismatch': 'Refused',
  'InvalidVSwitchId.NotFound': 'Refused',
  'InvalidVSwitchId.NotExist': 'Refused',
  'InvalidSystemDiskCategory.ValueNotSupported': 'Refused',
  'InvalidDataDiskCategory.ValueNotSupported': 'Refused',
  'InvalidSystemDiskSize.ValueNotSupported': 'Refused',
  'InvalidKeyPairName.NotFound': 'Refused',
  'InvalidRamRole.NotFound': 'Refused',
  'InvalidDeploymentSetId.NotFound': 'Refused',
  'InvalidUserData.SizeExceeded': 'Refused',
  'InvalidRegionId.NotFound': 'Refused',
}

export const ecsMeaning = (code: string): Meaning | undefined =>
  Object.hasOwn(MEANINGS, code) ? MEANINGS[code] : undefined

export const ECS_TOKEN_USED = 'IdempotentParameterMismatch'
export const ECS_MISSING = 'InvalidInstanceId.NotFound'

export const isEcsThrottle = (code: string): boolean => code === 'Throttling' || code.startsWith('Throttling.')

const STALE: ReadonlySet<string> = new Set([
  'InvalidAccessKeyId.NotFound',
  'InvalidSecurityToken.Expired',
  'InvalidTimeStamp.Expired',
  'SignatureNonceUsed',
])
export const isEcsStale = (code: string): boolean => STALE.has(code)
