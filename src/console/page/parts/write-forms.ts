// The only two writes of the page: a Hold and an Approval, each with a reason and an end. Drawn only for those who may.
import { h } from '../h.ts'
import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { ApprovalRequest, HoldRequest, Written } from '../../protocol.ts'
import type { Approvable } from '../../topics.ts'
import { useApp } from '../app.ts'
import { post } from '../live/store.ts'
import { useDialog } from './dialog.ts'
import { Terminal } from './terminal.ts'
import { fieldTime, parseFieldTime } from './time.ts'

type Effect = HoldRequest['effect']

const MEANS: Readonly<Partial<Record<Effect, string>>> = {
  Pause: 'Pause: start nothing new',
  Freeze: 'Freeze: no disruption at all',
  Retry: 'Retry the blocked revision',
  Abort: 'Abort what is running',
  Promote: 'Promote: end the soak now',
}

/** As the command line does when no time is given. */
const HOLD_MS = 4 * 3_600_000
const APPROVAL_MS = 24 * 3_600_000
/** The bound of the field `reason` in both kinds. */
const MOST_REASON = 512

interface HoldProps {
  readonly cluster: string
  readonly target: HoldRequest['target']
  readonly effects: readonly Effect[]
  readonly to?: string
  readonly label?: string
}

export function HoldButton({ cluster, target, effects, to, label = 'Hold…' }: HoldProps): VNode | null {
  const { session, route } = useApp()
  const access = session.clusters.find(({ name }) => name === cluster)
  const [effect, setEffect] = useState(effects[0] ?? 'Pause')
  if (access?.holds.includes(target.kind) !== true || route.params['at'] !== undefined) return null
  const chosen = effects.includes(effect) ? effect : (effects[0] ?? 'Pause')
  return h(
    Form,
    {
      label,
      title: `Hold ${target.kind} ${target.name} in ${cluster}`,
      url: '/api/hold',
      lastsMs: HOLD_MS,
      body: (reason: string, until: number): HoldRequest => ({
        cluster,
        effect: chosen,
        target,
        reason,
        until,
        ...(to !== undefined && { to }),
      }),
    },
    h(
      'label',
      {},
      'Effect',
      h(
        'select',
        { value: chosen, onChange: (e: Event) => setEffect((e.currentTarget as HTMLSelectElement).value as Effect) },
        effects.map((value) => h('option', { key: value, value }, MEANS[value] ?? value)),
      ),
    ),
  )
}

interface ApproveProps {
  readonly cluster: string
  readonly of: ApprovalRequest['of']
  readonly approvals: readonly Approvable[]
}

export function ApproveButton({ cluster, of, approvals }: ApproveProps): VNode | null {
  const { session, route } = useApp()
  const [digest, setDigest] = useState(approvals[0]?.digest ?? '')
  const access = session.clusters.find(({ name }) => name === cluster)
  const chosen = approvals.find((a) => a.digest === digest) ?? approvals[0]
  if (access?.canApprove !== true || chosen === undefined || route.params['at'] !== undefined) return null
  return h(
    Form,
    {
      label: 'Approve…',
      title: `Approve ${of.kind} ${of.name} in ${cluster}`,
      url: '/api/approval',
      lastsMs: APPROVAL_MS,
      body: (reason: string, until: number): ApprovalRequest => ({ cluster, of, digest: chosen.digest, reason, until }),
    },
    approvals.length > 1 &&
      h(
        'label',
        {},
        'What',
        h(
          'select',
          { value: chosen.digest, onChange: (e: Event) => setDigest((e.currentTarget as HTMLSelectElement).value) },
          approvals.map((a) => h('option', { key: a.digest, value: a.digest }, a.text)),
        ),
      ),
    h(
      'p',
      {},
      chosen.text,
      h('br', {}),
      h('span', { class: 'soft small mono name' }, `sha256:${chosen.digest.replace(/^sha256:/, '')}`),
    ),
  )
}

interface FormProps {
  readonly label: string
  readonly title: string
  readonly url: string
  readonly lastsMs: number
  readonly body: (reason: string, until: number) => unknown
  readonly children?: ComponentChildren
}

function Form({ label, title, url, lastsMs, body, children }: FormProps): VNode {
  const { now, speak } = useApp()
  const { ref, isOpen, open: show, close, onClose } = useDialog()
  const [until, setUntil] = useState('')
  const [error, setError] = useState('')
  const [written, setWritten] = useState<Written>()
  const open = (): void => {
    setUntil(fieldTime(now() + lastsMs))
    setError('')
    setWritten(undefined)
    show()
  }
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const reason = String(new FormData(event.currentTarget as HTMLFormElement).get('reason') ?? '').trim()
    const end = parseFieldTime(until)
    if (reason === '') return setError('Give a reason: the people who meet this read it.')
    if (end === undefined || end <= now()) return setError('The end must be a time in the future.')
    const answer = await post<Written>(url, body(reason, end))
    if (answer.state === 'Ready') {
      setWritten(answer.value)
      speak(`${answer.value.kind} ${answer.value.name} created`)
    } else if (answer.state !== 'Loading') setError(`Not created: ${answer.message}`)
  }
  return h(
    'span',
    {},
    h('button', { type: 'button', onClick: open }, label),
    isOpen &&
      h(
        'dialog',
        { ref, 'aria-label': title, onClose },
        written === undefined
          ? h(
              'form',
              { noValidate: true, onSubmit: (e: SubmitEvent) => void send(e) },
              h('h2', {}, title),
              children,
              h(
                'label',
                {},
                'Reason',
                h('input', { name: 'reason', required: true, maxLength: MOST_REASON, autoComplete: 'off' }),
              ),
              h(
                'label',
                {},
                'Ends',
                h('input', {
                  type: 'datetime-local',
                  value: until,
                  onInput: (e: Event) => setUntil((e.currentTarget as HTMLInputElement).value),
                }),
              ),
              h('div', { role: 'alert' }, error !== '' && h('p', { class: 'error' }, error)),
              h(
                'div',
                { class: 'tools' },
                h('button', { type: 'button', onClick: close }, 'Cancel'),
                h('button', { type: 'submit', class: 'main' }, label.replace('…', '')),
              ),
            )
          : h(
              'div',
              { class: 'stack' },
              h('h2', {}, 'Created'),
              h('p', {}, `${written.kind} `, h('code', {}, written.name)),
              h('p', { class: 'soft' }, 'The same in a terminal'),
              h(Terminal, { command: written.command }),
              h('div', { class: 'tools' }, h('button', { type: 'button', class: 'main', onClick: close }, 'Close')),
            ),
      ),
  )
}
