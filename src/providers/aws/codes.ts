// What the codes of EC2 mean for a host that was to be made. Only codes that are listed here mean anything: whatever else comes leaves it open whether there is a host.
import type { Meaning } from '../cloud/make-result.ts'

const MEANINGS: Readonly<Record<string, Meaning>> = {
  InsufficientInstanceCapacity: 'NoneThere',
  InsufficientHostCapacity: 'NoneThere',
  UnfulfillableCapacity: 'NoneThere',
  ReservationCapacityExceeded: 'NoneThere',
  Unsupported: 'NoneThere',
  InsufficientFreeAddressesInSubnet: 'NoneInZone',
  MaxSpotInstanceCountExceeded: 'NoneOfType',
  VcpuLimitExceeded: 'NoneOfType',
  SpotMaxPriceTooLow: 'NoneOfType',
  InstanceLimitExceeded: 'Refused',
  AuthFailure: 'Refused',
  UnauthorizedOperation: 'Refused',
  OptInRequired: 'Refused',
  Blocked: 'Refused',
  PendingVerification: 'Refused',
  'InvalidAMIID.NotFound': 'Refused',
  'InvalidAMIID.Malformed': 'Refused',
  'InvalidAMIID.Unavailable': 'Refused',
  InvalidBlockDeviceMapping: 'Refused',
  'InvalidGroup.NotFound': 'Refused',
  'InvalidGroupId.Malformed': 'Refused',
  InvalidInstanceType: 'Refused',
  'InvalidKeyPair.NotFound': 'Refused',
  'InvalidPlacementGroup.Unknown': 'Refused',
  'InvalidSecurityGroupID.NotFound': 'Refused',
  'InvalidSubnetID.NotFound': 'Refused',
  'InvalidUserData.Malformed': 'Refused',
  InvalidParameterCombination: 'Refused',
  InvalidParameterValue: 'Refused',
  MissingParameter: 'Refused',
  UnsupportedOperation: 'Refused',
}

export const ec2Meaning = (code: string): Meaning | undefined =>
  Object.hasOwn(MEANINGS, code) ? MEANINGS[code] : undefined

export const EC2_TOKEN_USED = 'IdempotentParameterMismatch'
export const EC2_MISSING = 'InvalidInstanceID.NotFound'

const THROTTLES: ReadonlySet<string> = new Set([
  'RequestLimitExceeded',
  'Throttling',
  'ThrottlingException',
  'EC2ThrottledException',
  'RequestThrottled',
])
export const isEc2Throttle = (code: string): boolean => THROTTLES.has(code)

const STALE: ReadonlySet<string> = new Set([
  'RequestExpired',
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidClientTokenId',
])
export const isEc2Stale = (code: string): boolean => STALE.has(code)
