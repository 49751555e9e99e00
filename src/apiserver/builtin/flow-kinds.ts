// How a server shares itself between its clients. Stored without any effect: this server has rules of its own.
import type { KubeObject } from '#api/schema/object.ts'
import { text } from './core-columns.ts'
import { fields, listAt, number, specOf, statusOf, text as textOf } from './fields.ts'
import { keptKind, typeIn } from './kept-kind.ts'
import * as s from './shape.ts'

const flow = typeIn('flowcontrol.apiserver.k8s.io')
const subject = s.struct('Subject', {
  kind: s.always(s.str),
  user: s.pointer(s.struct('UserSubject', { name: s.always(s.str) })),
  group: s.pointer(s.struct('GroupSubject', { name: s.always(s.str) })),
  serviceAccount: s.pointer(s.struct('ServiceAccountSubject', { namespace: s.always(s.str), name: s.always(s.str) })),
})

const NONE = '<none>'
const orNone = (value: unknown): string | number =>
  typeof value === 'string' || typeof value === 'number' ? value : NONE

/** A schema names a level that does not exist, as far as it was checked. */
const isDangling = (o: KubeObject): string =>
  textOf(listAt(statusOf(o), 'conditions').find((c) => c['type'] === 'Dangling')?.['status']) || '?'

const limited = (o: KubeObject) => fields(specOf(o)['limited'])
const queuing = (o: KubeObject) => fields(fields(limited(o)['limitResponse'])['queuing'])

const flowSchema = keptKind({
  type: flow('FlowSchema', 'flowschemas', false),
  shows: [
    text('PriorityLevel', (o) => textOf(fields(specOf(o)['priorityLevelConfiguration'])['name'])),
    text('MatchingPrecedence', (o) => number(specOf(o)['matchingPrecedence'])),
    text('DistinguisherMethod', (o) => orNone(fields(specOf(o)['distinguisherMethod'])['type'])),
  ],
  wide: [text('MissingPL', isDangling)],
  generation: true,
  properties: {
    spec: s.always(
      s.struct('FlowSchemaSpec', {
        priorityLevelConfiguration: s.always(
          s.struct('PriorityLevelConfigurationReference', { name: s.always(s.str) }),
        ),
        matchingPrecedence: s.withDefault(s.always(s.int32), 1000),
        distinguisherMethod: s.pointer(s.struct('FlowDistinguisherMethod', { type: s.always(s.str) })),
        rules: s.listOf(
          s.struct('PolicyRulesWithSubjects', {
            subjects: s.always(s.listOf(subject)),
            resourceRules: s.listOf(
              s.struct('ResourcePolicyRule', {
                verbs: s.always(s.setOf(s.str)),
                apiGroups: s.always(s.setOf(s.str)),
                resources: s.always(s.setOf(s.str)),
                clusterScope: s.bool,
                namespaces: s.setOf(s.str),
              }),
            ),
            nonResourceRules: s.listOf(
              s.struct('NonResourcePolicyRule', {
                verbs: s.always(s.setOf(s.str)),
                nonResourceURLs: s.always(s.setOf(s.str)),
              }),
            ),
          }),
        ),
      }),
    ),
    status: s.always(s.struct('FlowSchemaStatus', { conditions: s.mapList(['type'], s.condition) })),
  },
})

const priorityLevel = keptKind({
  type: flow('PriorityLevelConfiguration', 'prioritylevelconfigurations', false),
  shows: [
    text('Type', (o) => textOf(specOf(o)['type'])),
    text('NominalConcurrencyShares', (o) =>
      orNone(limited(o)['nominalConcurrencyShares'] ?? fields(specOf(o)['exempt'])['nominalConcurrencyShares']),
    ),
    text('Queues', (o) => orNone(queuing(o)['queues'])),
    text('HandSize', (o) => orNone(queuing(o)['handSize'])),
    text('QueueLengthLimit', (o) => orNone(queuing(o)['queueLengthLimit'])),
  ],
  generation: true,
  properties: {
    spec: s.always(
      s.struct('PriorityLevelConfigurationSpec', {
        type: s.always(s.str),
        limited: s.pointer(s.anything),
        exempt: s.pointer(s.anything),
      }),
    ),
    status: s.always(s.struct('PriorityLevelConfigurationStatus', { conditions: s.conditions })),
  },
})

export const flowKinds = [flowSchema, priorityLevel] as const
