// The options of a request as its query carries them, checked in the words of a kube-apiserver.
import { forbidden, invalid as invalidField, notSupported, required, type FieldError } from '../schema/field-error.ts'
import { badRequest, invalid } from '../status/refusal.ts'

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

export interface WriteOptions {
  readonly dryRun: boolean
  readonly fieldManager: string
  readonly fieldValidation: FieldValidation
  readonly force: boolean
}

const META = 'meta.k8s.io'
const MAX_MANAGER = 128
const VALIDATIONS: readonly string[] = ['', 'Ignore', 'Strict', 'Warn']

/** Go's ParseBool for options: anything but these few is true, as the conversion of query values has it. */
export const isTrue = (text: string | null): boolean => text !== null && text !== 'false' && text !== '0'

export interface WriteKind {
  readonly options: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions'
  readonly apply: boolean
}

export function writeOptions(query: URLSearchParams, { options, apply }: WriteKind): WriteOptions {
  const dryRun = query.getAll('dryRun')
  const fieldManager = query.get('fieldManager') ?? ''
  const validation = query.get('fieldValidation') ?? ''
  const force = query.has('force') && isTrue(query.get('force'))
  const problems: FieldError[] = []
  if (options === 'PatchOptions') {
    if (!apply && force) problems.push(forbidden('force', 'may not be specified for non-apply patch'))
    if (apply && fieldManager === '') problems.push(required('fieldManager', 'is required for apply patch'))
  }
  problems.push(...managerProblems(fieldManager), ...dryRunProblems(dryRun))
  if (!VALIDATIONS.includes(validation)) problems.push(notSupported('fieldValidation', validation, VALIDATIONS))
  if (problems.length > 0) throw invalid({ group: META, kind: options }, '', problems)
  return {
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: validation === '' ? 'Warn' : (validation as FieldValidation),
    force,
  }
}

function managerProblems(manager: string): readonly FieldError[] {
  const out: FieldError[] = []
  if (manager.length > MAX_MANAGER)
    out.push({ type: 'FieldValueTooLong', field: 'fieldManager', detail: `may not be more than ${MAX_MANAGER} bytes` })
  for (const [i, c] of [...manager].entries())
    if (!/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(c)) {
      out.push(
        invalidField(
          'fieldManager',
          manager,
          `invalid character U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')} (at position ${i})`,
        ),
      )
    }
  return out
}

function dryRunProblems(dryRun: readonly string[]): readonly FieldError[] {
  return dryRun.every((d) => d === 'All') ? [] : [notSupported('dryRun', dryRun, ['All'])]
}

/** As Go reads a query: pairs that are badly escaped, or hold a semicolon, are left out. */
export function parseQuery(text: string): URLSearchParams {
  const isPlain = !text.includes('%') && !text.includes(';')
  return new URLSearchParams(isPlain ? text : text.split('&').filter(isReadable).join('&'))
}

const isReadable = (pair: string): boolean => !pair.includes(';') && !/%(?![0-9a-f]{2})/i.test(pair)

/** A regular expression could backtrack too long on a run of digits; no duration is longer. */
const MAX_DURATION_CHARS = 64
const DURATION = /^[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/

/** How long the client will wait. Requests are short here, so the value is only validated. */
export function checkTimeout(query: URLSearchParams): void {
  const timeout = query.get('timeout') ?? ''
  if (timeout === '') return
  if (timeout.length > MAX_DURATION_CHARS || !DURATION.test(timeout))
    throw badRequest(`invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(timeout)}`)
}

const MAX_UINT64 = 2n ** 64n - 1n

/** What Go's ParseUint says of a version; undefined when it is one. */
export function versionProblem(text: string): string | undefined {
  if (!/^\d+$/.test(text)) return `strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`
  return BigInt(text) > MAX_UINT64
    ? `strconv.ParseUint: parsing ${JSON.stringify(text)}: value out of range`
    : undefined
}

export interface ListOptions {
  readonly labelSelector: string
  readonly fieldSelector: string
  readonly limit: number
  readonly continueToken: string
  readonly resourceVersion: string
  readonly resourceVersionMatch: string
  readonly watch: boolean
  readonly allowWatchBookmarks: boolean
  readonly sendInitialEvents: boolean | undefined
  readonly timeoutSeconds: number | undefined
}

export function listOptions(query: URLSearchParams, watchPath: boolean): ListOptions {
  const watch = watchPath || (query.has('watch') && isTrue(query.get('watch')))
  const sendInitial = query.get('sendInitialEvents')
  const options: ListOptions = {
    labelSelector: query.get('labelSelector') ?? '',
    fieldSelector: query.get('fieldSelector') ?? '',
    limit: wholeNumber(query, 'limit') ?? 0,
    continueToken: query.get('continue') ?? '',
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    watch,
    allowWatchBookmarks: query.has('allowWatchBookmarks') && isTrue(query.get('allowWatchBookmarks')),
    sendInitialEvents: sendInitial === null ? undefined : isTrue(sendInitial),
    timeoutSeconds: wholeNumber(query, 'timeoutSeconds'),
  }
  const problems = watch ? watchProblems(options) : listProblems(options)
  if (problems.length > 0) throw invalid({ group: META, kind: 'ListOptions' }, '', problems)
  return options
}

const MATCH = 'resourceVersionMatch'
const unknownMatch = (o: ListOptions, known: readonly string[]): readonly FieldError[] =>
  o.resourceVersionMatch === '' || known.includes(o.resourceVersionMatch)
    ? []
    : [notSupported(MATCH, o.resourceVersionMatch, known)]

function listProblems(o: ListOptions): readonly FieldError[] {
  const out: FieldError[] = []
  if (o.resourceVersionMatch !== '') {
    if (o.resourceVersion === '') out.push(forbidden(MATCH, `${MATCH} is forbidden unless resourceVersion is provided`))
    if (o.continueToken !== '') out.push(forbidden(MATCH, `${MATCH} is forbidden when continue is provided`))
    out.push(...unknownMatch(o, ['Exact', 'NotOlderThan', '']))
    if (o.resourceVersionMatch === 'Exact' && o.resourceVersion === '0')
      out.push(forbidden(MATCH, `${MATCH} "exact" is forbidden for resourceVersion "0"`))
  }
  if (o.sendInitialEvents !== undefined)
    out.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  return out
}

function watchProblems(o: ListOptions): readonly FieldError[] {
  const out: FieldError[] = []
  if (o.sendInitialEvents !== undefined) {
    if (o.resourceVersionMatch !== 'NotOlderThan')
      out.push(forbidden(MATCH, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'))
  } else if (o.resourceVersionMatch !== '')
    out.push(forbidden(MATCH, `${MATCH} is forbidden for watch unless sendInitialEvents is provided`))
  if (o.sendInitialEvents !== undefined) out.push(...unknownMatch(o, ['NotOlderThan']))
  if (o.continueToken !== '') out.push(forbidden(MATCH, `${MATCH} is forbidden when continue is provided`))
  return out
}

const INTEGER = /^[+-]?\d+$/

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (!INTEGER.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
  if (BigInt.asIntN(64, BigInt(text)) !== BigInt(text))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`)
  return Number(text)
}
