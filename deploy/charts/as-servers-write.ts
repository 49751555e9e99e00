// Writes what cdk8s-plus spells in words of its own as API servers write it down: kubectl compares texts, and would send 4096Mi each time where it reads 4Gi.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'

const QUANTITIES: ReadonlySet<string> = new Set(['memory', 'sizeLimit'])
const UNITS = ['Mi', 'Gi', 'Ti'] as const
const STEP = 1_024

/** In the largest unit that has no fraction. */
function quantity(text: string): string {
  const found = /^([1-9]\d*)Mi$/.exec(text)
  if (found === null) return text
  let count = Number(found[1])
  let unit = 0
  while (count % STEP === 0 && unit < UNITS.length - 1) {
    count /= STEP
    unit++
  }
  return `${count}${UNITS[unit]}`
}

/** A field that says what holds without it is not kept. */
const isDefault = (field: string, value: unknown): boolean => field === 'readOnly' && value === false

function spelled(value: unknown, field = ''): unknown {
  if (typeof value === 'string') return QUANTITIES.has(field) ? quantity(value) : value
  if (Array.isArray(value)) return value.map((v) => spelled(v))
  if (!isObject(value)) return value
  const kept = Object.entries(value).filter(([key, v]) => !isDefault(key, v))
  return Object.fromEntries(kept.map(([key, v]) => [key, spelled(v, key)]))
}

export const asServersWrite = (object: KubeObject): KubeObject =>
  object.kind === 'Deployment' ? (spelled(object) as KubeObject) : object
