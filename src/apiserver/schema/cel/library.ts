// Every function and every name of a type that an expression may use, in one table.
import type { FunctionTable } from './check.ts'
import { type Overload, fn, method } from './functions.ts'
import { AUTHORIZER_FUNCTIONS } from './library-authorizer.ts'
import { CONVERSIONS } from './library-conversions.ts'
import { FORMAT_FUNCTIONS, NAMED_FORMAT } from './library-format.ts'
import { CIDR, IP, IP_FUNCTIONS } from './library-ip.ts'
import { LIST_SHAPES } from './library-list-shapes.ts'
import { LIST_FUNCTIONS } from './library-lists.ts'
import { QUANTITY, QUANTITY_FUNCTIONS } from './library-quantity.ts'
import { SEMVER, SEMVER_FUNCTIONS } from './library-semver.ts'
import { STRING_FUNCTIONS } from './library-strings.ts'
import { TIME_FUNCTIONS } from './library-time.ts'
import { URL_FUNCTIONS, URL_TYPE } from './library-url.ts'
import { OPERATORS } from './operators.ts'
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  STRING,
  TIMESTAMP,
  typeOf,
  UINT,
} from './types.ts'
import { MIN_TIMESTAMP } from './time.ts'
import { CelDuration, CelError, CelList, CelMap, CelOptional, CelTimestamp, CelUint, type CelValue } from './values.ts'

/** Optional values: made, asked, taken out. */
const A: CelType = { kind: 'var', name: 'A' }
const OPTIONAL = optionalOf(A)

function isZero(v: CelValue): boolean {
  if (v === null || v === false || v === 0n || v === 0 || v === '') return true
  if (v instanceof CelUint) return v.value === 0n
  if (v instanceof CelDuration) return v.nanos === 0n
  if (v instanceof CelTimestamp) return v.nanos === MIN_TIMESTAMP
  if (v instanceof CelList || v instanceof Uint8Array) return v.length === 0
  return v instanceof CelMap && v.size === 0
}

const OPTIONAL_FUNCTIONS: readonly Overload[] = [
  fn('optional.of', [A], OPTIONAL, (v: CelValue) => new CelOptional(v)),
  fn('optional.none', [], OPTIONAL, () => CelOptional.none),
  fn('optional.ofNonZeroValue', [A], OPTIONAL, (v: CelValue) => (isZero(v) ? CelOptional.none : new CelOptional(v))),
  method('hasValue', [OPTIONAL], BOOL, (o: CelOptional) => o.value !== undefined),
  method('value', [OPTIONAL], A, (o: CelOptional) =>
    o.value === undefined ? new CelError('optional.none() dereference') : o.value,
  ),
  method('or', [OPTIONAL, OPTIONAL], OPTIONAL, (o: CelOptional, p: CelOptional) => (o.value === undefined ? p : o)),
  method('orValue', [OPTIONAL, A], A, (o: CelOptional, v: CelValue) => (o.value === undefined ? v : o.value)),
]

const ALL: readonly Overload[] = [
  ...OPERATORS,
  ...CONVERSIONS,
  ...STRING_FUNCTIONS,
  ...LIST_FUNCTIONS,
  ...LIST_SHAPES,
  ...TIME_FUNCTIONS,
  ...OPTIONAL_FUNCTIONS,
  ...QUANTITY_FUNCTIONS,
  ...URL_FUNCTIONS,
  ...IP_FUNCTIONS,
  ...SEMVER_FUNCTIONS,
  ...FORMAT_FUNCTIONS,
  ...AUTHORIZER_FUNCTIONS,
]

export const FUNCTIONS: FunctionTable = Map.groupBy(ALL, (o) => o.name)

export const TYPE_NAMES: ReadonlyMap<string, CelType> = new Map<string, CelType>([
  ['bool', BOOL],
  ['bytes', BYTES],
  ['double', DOUBLE],
  ['int', INT],
  ['uint', UINT],
  ['string', STRING],
  ['list', listOf(DYN)],
  ['map', mapOf(DYN, DYN)],
  ['null_type', NULL],
  ['type', typeOf(undefined)],
  ['optional_type', optionalOf(DYN)],
  ['kubernetes.Quantity', QUANTITY],
  ['kubernetes.URL', URL_TYPE],
  ['kubernetes.Semver', SEMVER],
  ['kubernetes.NamedFormat', NAMED_FORMAT],
  ['net.IP', IP],
  ['net.CIDR', CIDR],
  ['google.protobuf.Duration', DURATION],
  ['google.protobuf.Timestamp', TIMESTAMP],
])
