// Which events an agent writes: its own ones, about its own Machine and Node. What people and dashboards read there must not be said by another.
import { API_GROUP } from '#api/kind.ts'
import { AGENT_REPORTER, AGENT_SOURCES_PREFIX, ANNOTATIONS } from '#api/names.ts'
import { all, any, isResource, operations, quoted } from './policy.ts'

/** Where the events of objects without a namespace are. */
const NAMESPACE = 'default'
/** What src/lib/printable.ts replaces, as RE2 has it, and line breaks. A tab may stay. */
const UNSEEN = String.raw`[\\x00-\\x08\\x0a-\\x1f\\x7f-\\x9f\\x{ad}\\x{61c}\\x{200b}\\x{200e}\\x{200f}\\x{2028}-\\x{202e}\\x{2060}-\\x{206f}\\x{feff}\\x{fff9}-\\x{fffb}\\x{e0000}-\\x{e007f}]`
/** The limit that API servers enforce. */
const NOTE_CHARACTERS = 1_024
const WORD_CHARACTERS = 128

const textOf = (path: string, object = 'object'): string => `${object}.?${path.replaceAll('.', '.?')}.orValue('')`

const isAbout = (kind: string, group: string, name: string): readonly string[] => [
  `${textOf('regarding.kind')} == ${quoted(kind)}`,
  `${textOf('regarding.apiVersion')}.matches(${quoted(group === '' ? '^v1$' : `^${group}/v[0-9a-z]+$`)})`,
  `${textOf('regarding.name')} == ${name}`,
]

const isEvent = isResource('events.k8s.io', 'events')
const ofEvents = (...holds: readonly string[]): string => any(`!(${isEvent})`, all(...holds))

const isPlain = (path: string, most: number): string =>
  all(`${textOf(path)}.size() <= ${most}`, `!${textOf(path)}.matches(${quoted(UNSEEN)})`)

/** Of the namespace and the writer; `variables` are those of policy `kubenode-agents`. */
export const writesEvent = all(isEvent, operations('CREATE', 'UPDATE'), `variables.inNamespace == ${quoted(NAMESPACE)}`)

const isFrom = (object: 'object' | 'oldObject'): string =>
  all(
    `${textOf('reportingInstance', object)} == variables.machine`,
    any(
      `${textOf('reportingController', object)} == ${quoted(AGENT_REPORTER)}`,
      `${textOf('reportingController', object)}.startsWith(${quoted(AGENT_SOURCES_PREFIX)})`,
    ),
  )

export const agentEventBounds: readonly { readonly expression: string; readonly message: string }[] = [
  {
    expression: ofEvents(
      isFrom('object'),
      any('oldObject == null', isFrom('oldObject')),
      `${textOf('deprecatedSource.component')} == ''`,
      `${textOf('deprecatedSource.host')} == ''`,
    ),
    message: `an agent reports and changes only its own events, as ${AGENT_REPORTER} or ${AGENT_SOURCES_PREFIX}*, with the name of its Machine as instance`,
  },
  {
    // The uid of a Node is not in a certificate; its name is, and users search the events of a Node by name.
    expression: ofEvents(
      any(
        all(...isAbout('Machine', API_GROUP, 'variables.machine'), `${textOf('regarding.uid')} == variables.uid`),
        all(...isAbout('Node', '', `(variables.nodes.size() == 1 ? variables.nodes[0] : '')`)),
      ),
      `${textOf('regarding.namespace')} == ''`,
      `${textOf('regarding.fieldPath')} == ''`,
      '!has(object.related)',
    ),
    message: 'an agent reports events of its own Machine and its own Node only',
  },
  {
    expression: ofEvents(
      'variables.uidNow == variables.uid',
      any('oldObject == null', 'variables.uidBefore == variables.uid'),
      'object.metadata.?labels.orValue({}).size() == 0',
      `object.metadata.?annotations.orValue({}).all(k, k == ${quoted(ANNOTATIONS.machineUid)})`,
    ),
    message: `an event of an agent has no labels, and no annotation but ${ANNOTATIONS.machineUid} with the uid of its certificate`,
  },
  {
    expression: ofEvents(
      isPlain('note', NOTE_CHARACTERS),
      ...['reason', 'action', 'reportingController', 'regarding.uid', 'regarding.resourceVersion'].map((path) =>
        isPlain(path, WORD_CHARACTERS),
      ),
    ),
    message: `an event of an agent is one line of at most ${NOTE_CHARACTERS} characters`,
  },
]
