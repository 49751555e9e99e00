// Fields that many kinds share: names, durations, selectors, windows. Each has its limit and pattern in one place.
import { DURATION_PATTERN, durationMs } from '#lib/duration.ts'
import { COMPONENT_NAME_PATTERN, COMPONENT_VERSION_PATTERN } from '#lib/names.ts'
import type { Condition } from './schema/object.ts'
import {
  choice,
  fallback,
  int,
  list,
  map,
  mapList,
  obj,
  optional,
  refine,
  rule,
  str,
  time,
  type Field,
  type Props,
} from './build.ts'
import { check } from './extras.ts'
import { phaseNames, type PhaseTable } from './phases.ts'
import { cronProblem } from './cron.ts'

const DNS_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'

/** RFC 1123 label. */
export const dnsLabel = (doc: string): Field<string> =>
  str(doc, {
    min: 1,
    max: 63,
    pattern: `^${DNS_LABEL}$`,
    expects: 'lower-case letters, digits and "-", starting and ending with a letter or digit, at most 63',
  })

/** An object's name: RFC 1123 subdomain. */
export const objectName = (doc: string): Field<string> =>
  str(doc, {
    min: 1,
    max: 253,
    pattern: `^${DNS_LABEL}(\\.${DNS_LABEL})*$`,
    expects: 'lower-case letters, digits, "-" and ".", starting and ending with a letter or digit, at most 253',
  })

export const uid = (doc: string): Field<string> => str(doc, { min: 1, max: 64 })

export const componentName = (doc: string): Field<string> =>
  str(doc, {
    min: 1,
    max: 63,
    pattern: COMPONENT_NAME_PATTERN,
    expects: 'lower-case letters, digits and "-", starting with a letter',
  })

export const componentVersion = (doc: string): Field<string> =>
  str(doc, {
    min: 1,
    max: 128,
    pattern: COMPONENT_VERSION_PATTERN,
    expects: 'letters, digits and ". + : ~ _ -", starting with a letter or digit',
  })

/** One line for people. */
export const sentence = (doc: string, max = 200): Field<string> => str(doc, { max })

/** A word by which programs distinguish causes. */
export const reasonWord = (doc: string): Field<string> =>
  str(doc, { min: 1, max: 64, pattern: '^[A-Z][A-Za-z0-9]*$', expects: 'one CamelCase word' })

const LONGEST_DURATION_MS = 366 * 86_400_000

/** Zero is a valid duration; a year is the longest wait. */
export const duration = (doc: string): Field<string> =>
  refine(
    str(doc, { min: 2, max: 32, pattern: DURATION_PATTERN, expects: 'a duration such as 90s, 5m or 1h30m' }),
    {},
    {
      checks: [
        check('duration of at most a year', (value) => {
          const ms = typeof value === 'string' ? durationMs(value) : undefined
          return ms === undefined || ms <= LONGEST_DURATION_MS ? undefined : 'is longer than a year'
        }),
      ],
    },
  )

export const sha256 = (doc: string): Field<string> =>
  str(doc, { min: 64, max: 64, pattern: '^[0-9a-f]{64}$', expects: '64 lower-case hexadecimal digits' })

export const commitId = (doc: string): Field<string> =>
  str(doc, { min: 40, max: 64, pattern: '^[0-9a-f]+$', expects: 'the full hexadecimal id of a git commit' })

export const revisionName = (doc: string): Field<string> => objectName(doc)

/** Absolute `linux` paths without surprises; the agent checks again where they lead. */
export const absolutePath = (doc: string): Field<string> =>
  refine(
    str(doc, { min: 1, max: 1024, pattern: '^/[^\\x00-\\x1f]*$', expects: 'an absolute path' }),
    {},
    {
      checks: [
        check('no .. in a path', (v) =>
          typeof v === 'string' && v.split('/').includes('..') ? 'must not contain ".."' : undefined,
        ),
      ],
    },
  )

export const url = (doc: string): Field<string> =>
  str(doc, {
    min: 1,
    max: 2048,
    pattern: '^[a-z][a-z0-9+.-]*://[^\\s\\x00-\\x1f]+$',
    expects: 'an absolute URL such as https://example.org/path',
  })

export const port = (doc: string): Field<number> => int(doc, { min: 1, max: 65_535 })

/** Kubernetes' notation of amounts. */
export const quantity = (doc: string): Field<string> =>
  str(doc, {
    min: 1,
    max: 32,
    pattern: '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$',
    expects: 'a quantity such as 500m, 2 or 4Gi',
  })

export const labelValue = (doc: string): Field<string> =>
  str(doc, {
    max: 63,
    pattern: '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$',
    expects: 'at most 63 letters, digits, "-", "_" and ".", starting and ending with a letter or digit',
  })

const LABEL_KEY = '^([a-z0-9][-a-z0-9.]*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$'

const labelKey = (doc: string): Field<string> =>
  str(doc, {
    min: 1,
    max: 317,
    pattern: LABEL_KEY,
    expects: 'a label key such as topology.kubernetes.io/zone',
  })

const LABEL_KEY_PATTERN = new RegExp(LABEL_KEY)
const isLabelKey = (key: string): boolean => {
  const name = key.slice(key.indexOf('/') + 1)
  return key.length <= 317 && name.length <= 63 && LABEL_KEY_PATTERN.test(key)
}

export const labels = (doc: string, max = 64): Field<{ readonly [key: string]: string }> =>
  refine(
    map(doc, labelValue('Value of the label.'), { max }),
    {},
    {
      checks: [
        {
          name: 'label keys',
          findings: (value) =>
            Object.keys(Object(value))
              .filter((k) => !isLabelKey(k))
              .map((k) => ({
                pointer: '',
                message: `has the key ${JSON.stringify(k)}, which is not a valid label key`,
              })),
        },
      ],
    },
  )

/** A server accepts 256 KiB of annotations per object. 32 of these use half of it, and others write there too. */
const MAX_ANNOTATION_CHARS = 4_096

export const annotations = (doc: string, max = 32): Field<{ readonly [key: string]: string }> =>
  refine(
    map(doc, str('Value of the annotation.', { max: MAX_ANNOTATION_CHARS }), { max }),
    {},
    {
      checks: [
        {
          name: 'annotation keys',
          findings: (value) =>
            Object.keys(Object(value))
              .filter((k) => !isLabelKey(k))
              .map((k) => ({
                pointer: '',
                message: `has the key ${JSON.stringify(k)}, which is not a valid annotation key`,
              })),
        },
      ],
    },
  )

const requirement = rule(
  obj('One requirement on a label.', {
    key: labelKey('The label.'),
    operator: choice('How the value is compared.', ['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: optional(list('Values for In and NotIn.', labelValue('A value.'), { max: 64 })),
  }),
  {
    cel: "self.operator in ['In', 'NotIn'] ? has(self.values) && self.values.size() > 0 : !has(self.values) || self.values.size() == 0",
    message: 'values are required for In and NotIn, and not allowed otherwise',
    holds: (r) => (r.operator === 'In' || r.operator === 'NotIn') === (r.values ?? []).length > 0,
  },
)

/** A Kubernetes label selector; an empty one selects everything. */
export const selector = (doc: string) =>
  obj(doc, {
    matchLabels: optional(labels('Labels that must have exactly these values.', 32)),
    matchExpressions: optional(list('Requirements that must all hold.', requirement, { max: 16 })),
  })

const TAINT_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const

export const taints = (doc: string) =>
  mapList(
    doc,
    obj('A taint of the node.', {
      key: labelKey('Key of the taint.'),
      value: optional(labelValue('Value of the taint.')),
      effect: choice('Effect on pods that do not tolerate the taint.', TAINT_EFFECTS),
    }),
    { keys: ['key', 'effect'], max: 32 },
  )

const timeZoneProblem = (value: unknown): string | undefined => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: String(value) }).resolvedOptions().timeZone === ''
      ? 'is empty'
      : undefined
  } catch {
    return 'is not an IANA time zone; use one such as Europe/Berlin or UTC'
  }
}

export const cron = (doc: string): Field<string> =>
  refine(
    str(doc, { min: 1, max: 128 }),
    {},
    { expects: 'five cron fields such as "0 2 * * 6"', checks: [check('cron', cronProblem)] },
  )

/** A recurring or single period of time. */
export const timeWindow = (doc: string) =>
  obj(doc, {
    cron: cron('When it opens: minute, hour, day of month, month, day of week.'),
    duration: duration('How long it stays open.'),
    timeZone: fallback(
      refine(
        str('IANA time zone of the cron fields.', { min: 1, max: 64 }),
        {},
        { checks: [check('time zone', timeZoneProblem)] },
      ),
      'UTC',
    ),
    until: optional(time('The end of the last window: no window is open after this time.')),
  })

export const windows = (doc: string) => list(doc, timeWindow('A window.'), { max: 16 })

/** A key of a Secret in the system namespace. */
export const secretRef = (doc: string) =>
  obj(doc, {
    name: objectName('Name of the Secret.'),
    key: optional(
      str('Key in the Secret.', {
        min: 1,
        max: 253,
        pattern: '^[-._a-zA-Z0-9]+$',
        expects: 'letters, digits, "-", "_", "."',
      }),
    ),
  })

/** Kubernetes conditions; the catalogue lists the types each kind uses. */
const conditions = (): Field<readonly Condition[]> =>
  mapList(
    'The current conditions, one entry per type.',
    obj('One condition.', {
      type: str('Type of the condition.', {
        min: 1,
        max: 63,
        pattern: '^[A-Za-z][A-Za-z0-9.-]*$',
        expects: 'a CamelCase word',
      }),
      status: choice('Status of the condition.', ['True', 'False', 'Unknown']),
      reason: reasonWord('Reason for the status.'),
      message: sentence('Explanation for people; unchanged as long as the cause is the same.'),
      lastTransitionTime: time('When the status last changed.'),
      observedGeneration: optional(
        int('The generation of the spec that this condition refers to.', { min: 0, max: Number.MAX_SAFE_INTEGER }),
      ),
    }),
    { keys: ['type'], max: 16 },
  )

const observedGeneration = (): Field<number> =>
  int('The generation of the spec that this status refers to.', { min: 0, max: Number.MAX_SAFE_INTEGER })

const WAITS = 'What the object waits for; absent if it does not wait.'
const waitingFields = () => ({
  predicate: reasonWord('Name of the condition that is not met yet.'),
  seen: optional(sentence('The observed value.')),
  since: time('Since when.'),
  unblock: optional(sentence('What unblocks it.')),
})

/** What something waits for, shown by `why`. */
export const waitingFor = (doc = WAITS) => obj(doc, waitingFields())

/** For something that only waits for holds. */
export const waitingForHold = () =>
  obj(WAITS, { ...waitingFields(), hold: optional(objectName('The hold that it waits for.')) })

/** The status of a reconciled kind: starts with the observed generation and ends with the conditions. */
export const status = <P extends Props>(doc: string, fields: P) =>
  obj(doc, {
    observedGeneration: optional(observedGeneration()),
    ...fields,
    conditions: optional(conditions()),
  })

/** The same for a kind that reports what it waits for. */
export const waitingStatus = <P extends Props>(doc: string, fields: P) =>
  status(doc, { ...fields, waitingFor: optional(waitingFor()) })

export const count = (doc: string, max = 1_000_000): Field<number> => int(doc, { min: 0, max })

/** A phase from one of the catalogue's tables, where its names are documented. */
export const phase = <T extends PhaseTable>(
  table: T,
  doc = 'Current phase, for people; programs should read the conditions.',
) => choice(doc, phaseNames(table))
