// One describer: how an object is, what it waits for and why is put into words in `src/explain` alone; the faces draw what it found. What statuses themselves say
// is written by their controllers.
import { describe, expect, test } from 'vitest'
import { stateSentencesIn } from '#test/support/tools/state-sentences.ts'
import { isTest, parseImports, type SourceFile, sourceFiles } from './source-files.ts'

/** `record.ts` writes the note in git of what became of a commit: a memory for later readers, and no advice. */
const FACES = /^src\/(?:cli|console|install|programs\/local|sync\/notify\/(?!record\.ts))/

/**
 * They read conditions in a face to decide, or to hand them on as data, and say nothing of them; or they repeat what a server says of an object of Kubernetes
 * itself, of which KubeNode knows no more than that.
 */
const READ_CONDITIONS: Readonly<Record<string, string>> = {
  'src/console/server/machine-row.ts': 'a row of numbers and states of a machine',
  'src/console/server/node-topic.ts': 'a row for each condition of a node, as data',
  'src/console/server/views/node-kubernetes.ts': 'the words of the server about pods that are not ready',
  'src/programs/local/plan-clusters.ts': 'which clusters get programs on this machine',
  'src/install/checks/observe.ts': 'how many nodes are Ready',
  'src/install/checks/signer.ts': 'whether a signer answered a request',
  'src/install/namespace-end.ts': 'the words of the server about a namespace that does not end',
  'src/install/pod-trouble.ts': 'the words of the server about pods',
  'src/install/uninstall/node.ts': 'takes the conditions of KubeNode off a node',
}

/** Conditions are looked through without the functions for it. */
const BY_HAND = /\bconditions\??\.(?:filter|find|flatMap|map|some)\(|\['conditions'\]|, 'conditions'\)/

/** The words of reasons and conditions, and what reads a condition. */
const WORDS_OF_STATE: Readonly<Record<string, RegExp>> = {
  'src/api/catalogue.ts': /\b(?:REASONS|CONDITIONS)\b/,
  'src/kube/conditions.ts': /\b(?:findCondition|isConditionTrue)\b/,
}

function problemsOf({ path, text, imports }: SourceFile): readonly string[] {
  const sentences = stateSentencesIn(text).map(
    ({ line, field }) => `${path}:${line} puts ${field} into words; src/explain has the words, or gets them`,
  )
  const mayRead = READ_CONDITIONS[path] !== undefined
  const byHand =
    BY_HAND.test(text) && !mayRead ? [`${path} looks through conditions: what they say is for src/explain`] : []
  const readers = imports.flatMap(({ file, typeOnly }) => {
    const names = typeOnly ? undefined : WORDS_OF_STATE[file ?? '']
    const isAllowed = file === 'src/kube/conditions.ts' && mayRead
    return names?.test(text) === true && !isAllowed ? [`${path} imports ${file}: what it says is for src/explain`] : []
  })
  return [...sentences, ...byHand, ...readers]
}

const faces = sourceFiles('src').filter(({ path }) => FACES.test(path) && !isTest(path))

test('no face builds a sentence about the state of an object', () => {
  expect(faces.length).toBeGreaterThan(200)
  expect(faces.flatMap(problemsOf)).toEqual([])
})

test('what may read conditions in a face does', () => {
  const reading = new Set(
    faces
      .filter((f) => f.imports.some(({ file }) => file === 'src/kube/conditions.ts') || BY_HAND.test(f.text))
      .map(({ path }) => path),
  )
  expect(Object.keys(READ_CONDITIONS).filter((path) => !reading.has(path))).toEqual([])
})

describe('the check finds', () => {
  const found = (text: string) => {
    const path = 'src/cli/get/x.ts'
    return problemsOf({ path, text, imports: parseImports(path, text) }).length
  }

  test.each([
    ['a template with a phase', 'const a = (s) => `set/${s.name} is ${s.status?.phase}`'],
    ['a phase under its own name', 'const a = ({ phase = "Pending" }) => `it is ${phase}`'],
    [
      'a wait inside of a template inside of a choice',
      "const a = (w) => `x${w.waitingFor === undefined ? '' : `: ${w.waitingFor.seen}`}`",
    ],
    ['a field that is named by a text', "const a = (s) => `it is ${s['phase']} now`"],
    ['a sum of texts', "const a = (s) => 'it waits for ' + s.predicate"],
    ['a list that is joined', "const a = (s) => ['waits for', s.predicate].join(' ')"],
    ['children of an element', "const a = (s) => h('p', {}, 'It waits for ', s.wait.seen)"],
    [
      'a condition that is looked up',
      "import { findCondition } from '#kube/conditions.ts'\nfindCondition([], 'Ready')",
    ],
    [
      'a condition that is looked up by hand',
      "const a = ({ conditions = [] }) => conditions.find((c) => c.type === 'Ready')",
    ],
    ['the words of a reason', "import { REASONS } from '#api/catalogue.ts'\nREASONS.AsDeclared.doc"],
  ])('%s', (_, text) => expect(found(text)).toBe(1))

  test.each([
    ['data', 'const a = ({ phase }) => ({ phase, text: phase })'],
    ['a key', 'const a = ({ phase, name }) => `${name}/${phase}`'],
    ['a mark beside words', "const a = (s) => h('p', {}, 'Stage ', h(Mark, { phase: s.phase }))"],
    ['the end of a wait that explain drew', 'const a = (wait) => h(WaitLines, { wait })'],
    ['a word that only sounds like one', 'const a = (phases) => `${phases.length} phases`'],
    ['types', "import type { Condition } from '#kube/conditions.ts'"],
  ])('nothing in %s', (_, text) => expect(found(text)).toBe(0))
})
