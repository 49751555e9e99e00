// Objects that came out of a cage: each is refused with a registered error, set aside with a problem in one line, or is valid by the schema that a server has.
import { expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { API_GROUP } from '#api/kind.ts'
import { createValidator } from '#api/validate.ts'
import { isKubeNodeError } from '#lib/errors.ts'
import { canonicalJson } from '#lib/json.ts'
import { atOnce } from '#lib/slices.ts'
import { printableLine } from '#lib/printable.ts'
import type { Random } from '#lib/random.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { createValidators } from '#apiserver/schema/validate.ts'
import { answered } from '#sync/render/answered.ts'
import type { Targets } from '#delivery/desired.ts'
import { checkingRendered } from '#sync/render/rendered.ts'
import {
  FUZZ_TIMEOUT_MS,
  mutatedBytes,
  mutatedJson,
  runCampaign,
  strangeText,
  strangeValue,
} from '#test/support/fuzzing/fuzzing.ts'

const validator = createValidator()
const servers = createValidators()
const BUILTIN = [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' }, data: { k: 'v' } },
  { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'd', namespace: 'x' }, spec: { template: {} } },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'a:b' }, rules: [] },
]
const EXAMPLES: readonly object[] = [
  ...KINDS.map((k) => ({ apiVersion: `${API_GROUP}/v1alpha1`, kind: k.kind, ...(k.example as object) })),
  ...BUILTIN,
]
const linesOf = (lines: readonly unknown[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('')
const TEXTS = EXAMPLES.map((object) => Buffer.from(linesOf([{ target: 'test' }, { object }, { end: 2 }])))

/** JSON text with a field twice, as JSON.stringify never writes it. */
function withDuplicate(random: Random, text: string): string {
  const at = text.indexOf('{', random.below(text.length))
  const value = JSON.stringify(strangeValue(random))
  const key = random.pick(['kind', 'metadata', 'name', '__proto__', 'spec', 'apiVersion', 'object', 'target', 'end'])
  return at === -1 ? text : `${text.slice(0, at + 1)}${JSON.stringify(key)}:${value},${text.slice(at + 1)}`
}

/** The text on the descriptor of the cage, as code of the fleet may have written it. */
function hostile(random: Random): string {
  if (random.below(10) === 0) return mutatedBytes(random, random.pick(TEXTS), TEXTS).toString('utf8')
  const objects = Array.from({ length: 1 + random.below(3) }, () =>
    random.below(6) === 0 ? random.pick(EXAMPLES) : mutatedJson(random, random.pick(EXAMPLES)),
  )
  const cluster = random.below(12) === 0 ? strangeText(random) : 'test'
  const lines = [{ target: cluster }, ...objects.map((object) => ({ object }))]
  const strange = random.below(15) === 0 ? [strangeValue(random)] : random.below(15) === 0 ? [lines[0]] : []
  const end = random.below(30) === 0 ? strangeValue(random) : lines.length + strange.length
  const text = linesOf([...lines, ...strange, { end }])
  return random.below(8) === 0 ? withDuplicate(random, text) : text
}

/** Nothing in it begins a line, steers a terminal, or fills a status. */
const MAX_MESSAGE = 4_096
function requireOneLine(text: string): void {
  expect(text).toBe(printableLine(text))
  expect(text.length).toBeLessThanOrEqual(MAX_MESSAGE)
}

/** By the rules of Kubernetes and what an address can hold, written again: nothing that changes a path, a plan or a line. */
const WORD = /^[A-Za-z0-9](?:[A-Za-z0-9._:+/-]*[A-Za-z0-9])?$/
const KIND_BY_NAME = new Map<string, (typeof KINDS)[number]>(KINDS.map((k) => [k.kind, k]))

/** By the schema that a server has of the kind, which is another program than the validator's. */
function requireValid(targets: Targets): number {
  const all = [...targets.values()].flatMap((t) => t.objects)
  for (const { ref, object, digest } of all) {
    for (const word of [object.apiVersion, object.kind, object.metadata.name ?? '']) expect(word).toMatch(WORD)
    expect(digest).toMatch(/^[0-9a-f]{64}$/)
    // What a server is sent is what was checked.
    expect(canonicalJson(JSON.parse(JSON.stringify(object)))).toBe(canonicalJson(object))
    if (ref.group !== API_GROUP) continue
    const kind = KIND_BY_NAME.get(ref.kind)
    if (kind === undefined) throw new Error(`${ref.kind} was accepted and is no kind`)
    const problems = servers.for(kind.schema).validate(applyDefaults(kind.schema, structuredClone(object)))
    expect(problems).toEqual([])
  }
  return all.length
}

function one(random: Random): string {
  const text = hostile(random)
  let targets: Targets
  try {
    const chunks = [Buffer.from(text)]
    const { answer } = answered({ kind: 'Answered', chunks, printed: '' }, 'render commit 3f1c9e0a7b5d')
    if ('error' in answer) return 'failed'
    targets = atOnce(checkingRendered(answer.clusters, validator))
  } catch (e) {
    if (!isKubeNodeError(e)) throw e
    expect(['KN7107', 'KN7109', 'KN7105', 'KN7114']).toContain(e.code)
    requireOneLine(e.message)
    return 'refused'
  }
  const accepted = requireValid(targets)
  const rejected = [...targets.values()].flatMap((t) => t.rejected)
  for (const { problem } of rejected) requireOneLine(problem)
  expect('polluted' in {} || Object.keys(Object.prototype).length > 0).toBe(false)
  return accepted > 0 ? 'accepted' : rejected.length > 0 ? 'set aside' : 'empty'
}

test(
  'S33 rendered objects of any shape are refused, set aside, or valid by the schema of a server',
  async () => {
    await runCampaign({ name: 'rendered objects', quick: 1_000, one, mustSee: ['accepted', 'set aside', 'refused'] })
  },
  FUZZ_TIMEOUT_MS,
)
