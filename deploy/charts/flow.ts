// Fairness on a real kube-apiserver: lease renewals of leaders come first, our programs have a share of their own, and all agents together have one in which
// each waits in its own queues. The embedded server has this built in.
import { ApiObject, Chart } from 'cdk8s'
import type { Construct } from 'constructs'
import {
  AGENT_ACCOUNTS_GROUP,
  AGENTS_GROUP,
  BOOTSTRAP_GROUP,
  JOIN_ACCOUNTS_GROUP,
  SYSTEM_NAMESPACE,
} from '#api/names.ts'
import { accountOf, PROGRAMS, userOf } from './system.ts'

const API_VERSION = 'flowcontrol.apiserver.k8s.io/v1'

interface Level {
  readonly name: string
  /** Of the requests that the server handles at once; the built-in levels of Kubernetes have 20 to 100 each. */
  readonly shares: number
  /** What others may use of it while it is idle, and what it may use of others. */
  readonly lendable: number
  readonly borrowing?: number
  readonly queues: number
  /** A client's requests go into so many of the queues: a flood fills these, and few others share all of them. */
  readonly handSize: number
  readonly queueLength: number
}

const LEVELS: readonly Level[] = [
  { name: 'kubenode-leaders', shares: 10, lendable: 0, queues: 16, handSize: 4, queueLength: 50 },
  { name: 'kubenode-programs', shares: 40, lendable: 50, queues: 16, handSize: 4, queueLength: 500 },
  // Never beyond its own share: ten thousand keys that lie on hosts are stolen first.
  { name: 'kubenode-agents', shares: 20, lendable: 50, borrowing: 0, queues: 256, handSize: 4, queueLength: 50 },
]

interface Flow {
  readonly name: string
  /** Lower values match first. The built-in ones have 100 and 200 for Kubernetes' own leaders, 500 for nodes, 9000 for service accounts. */
  readonly precedence: number
  readonly subjects: readonly object[]
  readonly resourceRules: readonly object[]
  readonly nonResourceRules: readonly object[]
}

const user = (name: string) => ({ kind: 'User', user: { name } })
const group = (name: string) => ({ kind: 'Group', group: { name } })
const account = (name: string) => ({ kind: 'ServiceAccount', serviceAccount: { namespace: SYSTEM_NAMESPACE, name } })

const programs = PROGRAMS.flatMap((p) => [user(userOf(p)), account(accountOf(p))])
const everything = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }]
const everyPath = [{ verbs: ['*'], nonResourceURLs: ['*'] }]

const FLOWS: readonly Flow[] = [
  {
    name: 'kubenode-leaders',
    precedence: 150,
    subjects: programs,
    resourceRules: [
      {
        verbs: ['get', 'create', 'update', 'patch'],
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        namespaces: [SYSTEM_NAMESPACE],
      },
    ],
    nonResourceRules: [],
  },
  {
    name: 'kubenode-agents',
    precedence: 1_000,
    subjects: [AGENTS_GROUP, AGENT_ACCOUNTS_GROUP, BOOTSTRAP_GROUP, JOIN_ACCOUNTS_GROUP].map(group),
    resourceRules: everything,
    nonResourceRules: everyPath,
  },
  {
    name: 'kubenode-programs',
    precedence: 1_100,
    subjects: programs,
    resourceRules: everything,
    nonResourceRules: everyPath,
  },
]

export class FlowChart extends Chart {
  constructor(scope: Construct) {
    super(scope, 'flow')
    for (const level of LEVELS) this.#addLevel(level)
    for (const flow of FLOWS) this.#addFlow(flow)
  }

  #addLevel({ name, shares, lendable, borrowing, queues, handSize, queueLength }: Level): void {
    new ApiObject(this, `level-${name}`, {
      apiVersion: API_VERSION,
      kind: 'PriorityLevelConfiguration',
      metadata: { name },
      spec: {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: shares,
          lendablePercent: lendable,
          ...(borrowing !== undefined && { borrowingLimitPercent: borrowing }),
          limitResponse: { type: 'Queue', queuing: { queues, handSize, queueLengthLimit: queueLength } },
        },
      },
    })
  }

  #addFlow({ name, precedence, subjects, resourceRules, nonResourceRules }: Flow): void {
    new ApiObject(this, `flow-${name}`, {
      apiVersion: API_VERSION,
      kind: 'FlowSchema',
      metadata: { name },
      spec: {
        priorityLevelConfiguration: { name },
        matchingPrecedence: precedence,
        distinguisherMethod: { type: 'ByUser' },
        rules: [{ subjects, resourceRules, ...(nonResourceRules.length > 0 && { nonResourceRules }) }],
      },
    })
  }
}
