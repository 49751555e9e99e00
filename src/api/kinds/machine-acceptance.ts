// What a machine must pass before its Node takes pods for the first time: the fields of the template, and of the status.
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { acceptancePod, podRef, signedScript } from './operations.ts'

/** Enough lines to see which part is faulty; a Machine has a limited size. */
export const MAX_ACCEPTANCE_OUTPUT = 1_024

export const machineAcceptance = s.optional(
  s.union(
    s.obj(
      'What must pass on the node before it takes pods. Its startup taint stays until then, each time that the machine registers a new Node: when it first joins, and when it was reinstalled. Machines in service are not affected.',
      {
        script: s.optional(
          s.obj(
            'A signed MachineComponent of type Script, run by the agent once all components of the node are installed.',
            signedScript,
          ),
        ),
        pod: s.optional(
          s.obj(
            'A pod that must succeed on the node once all components of the node are installed. Needs no agent.',
            acceptancePod,
          ),
        ),
        timeout: s.fallback(
          f.duration('How long one attempt may take, the download of the script or the image included.'),
          '30m',
        ),
        retries: s.fallback(
          s.int(
            'Number of further attempts after one that did not pass. After the last one, the startup taint stays until a user acts.',
            {
              min: 0,
              max: 5,
            },
          ),
          1,
        ),
      },
    ),
    ['script', 'pod'],
  ),
)

const run = s.str('Identifies the attempt: the Node, what must pass, and the number of the attempt.', {
  min: 16,
  max: 16,
  pattern: '^[0-9a-f]{16}$',
  expects: '16 lower-case hexadecimal digits',
})

const output = s.optional(s.str('The last lines of its output. Not trusted.', { max: MAX_ACCEPTANCE_OUTPUT }))

/** Written by the machine controller. Agents cannot write it. */
export const acceptanceStatus = s.optional(
  s.obj('The acceptance of the current Node, or of the last one.', {
    run,
    node: f.uid('UID of the Node.'),
    wanted: s.str('What must pass.', { min: 1, max: 200 }),
    phase: s.choice(
      'Running: the attempt has been ordered. Waiting: it did not pass, and the next one follows. Passed: the node may take pods. Failed: no attempt is left, and the startup taint stays.',
      ['Running', 'Waiting', 'Passed', 'Failed'],
    ),
    attempt: s.int('Number of the attempt, from 1.', { min: 1, max: 100 }),
    since: s.time('When the attempt was ordered.'),
    finishedAt: s.optional(s.time('When its result was known.')),
    message: s.optional(f.sentence('Why it did not pass, or why it cannot start.')),
    pod: podRef('The pod of the attempt.'),
    output,
  }),
)

/** Written by the agent. */
export const acceptanceReport = s.optional(
  s.obj('The agent about the attempt that it was ordered to run last.', {
    run,
    startedAt: s.time('When the script was started.'),
    finishedAt: s.optional(s.time('When it ended. Absent while it runs.')),
    outcome: s.optional(
      s.choice('How it ended. Unknown: the agent was restarted in between.', ['Succeeded', 'Failed', 'Unknown']),
    ),
    output,
  }),
)
