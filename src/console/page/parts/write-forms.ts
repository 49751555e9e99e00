// The page's only two writes: a Hold and an Approval, each with a reason and an end. Drawn only for users who may create them.
import { defined } from '#lib/defined.ts'
import { h } from '../h.ts'
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { ApprovalRequest, HoldRequest, Written } from '../../protocol.ts'
import type { Approvable } from '../../topics.ts'
import { useApp } from '../app.ts'
import { DialogBox, useDialog } from './dialog.ts'
import { useSending } from './sending.ts'
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

/** The command line's default. */
const HOLD_MS = 4 * 3_600_000
const APPROVAL_MS = 24 * 3_600_000
/** The limit of the field `reason` in both kinds. */
const MOST_REASON = 512

interface HoldProps {
  readonly cluster: string
  readonly target: HoldRequest['target']
  readonly effects: readonly Effect[]
  readonly to?: string
  readonly label?: string
}

/** Keeps what the view showed when the dialog was opened: a user writes about what they read, and sees the result. */
function useOpened<T>(shown: T): readonly [T, boolean, (isOpen: boolean) => void] {
  const [opened, setOpened] = useState<{ readonly at: T }>()
  return [opened?.at ?? shown, opened !== undefined, (isOpen) => setOpened(isOpen ? { at: shown } : undefined)]
}

export function HoldButton(props: HoldProps): VNode | null {
  const { session, route } = useApp()
  const [{ cluster, target, effects, to, label = 'Hold…' }, isOpen, onChange] = useOpened(props)
  const access = session.clusters.find(({ name }) => name === cluster)
  const [effect, setEffect] = useState(effects[0] ?? 'Pause')
  const isOffered = access?.holds.includes(target.kind) === true && route.params['at'] === undefined
  if (!isOffered && !isOpen) return null
  const chosen = effects.includes(effect) ? effect : (effects[0] ?? 'Pause')
  return h(
    Form,
    {
      label,
      title: `${label.replace('…', '')}: ${target.kind} ${target.name}${target.kind === 'Cluster' ? '' : ` in ${cluster}`}`,
      url: '/api/hold',
      onChange,
      lastsMs: HOLD_MS,
      body: (reason: string, until: number): HoldRequest => ({
        cluster,
        effect: chosen,
        target,
        reason,
        until,
        ...defined({ to }),
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

export function ApproveButton(props: ApproveProps): VNode | null {
  const { session, route } = useApp()
  const [{ cluster, of, approvals }, isOpen, onChange] = useOpened(props)
  const [digest, setDigest] = useState(approvals[0]?.digest ?? '')
  const access = session.clusters.find(({ name }) => name === cluster)
  const chosen = approvals.find((a) => a.digest === digest) ?? approvals[0]
  const isOffered = access?.canApprove === true && route.params['at'] === undefined
  if (chosen === undefined || (!isOffered && !isOpen)) return null
  return h(
    Form,
    {
      label: 'Approve…',
      title: `Approve: ${of.kind} ${of.name} in ${cluster}`,
      url: '/api/approval',
      onChange,
      about: h(
        'p',
        {},
        chosen.text,
        h('br', {}),
        h('span', { class: 'soft small mono name' }, `sha256:${chosen.digest.replace(/^sha256:/, '')}`),
      ),
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
  )
}

interface FormProps {
  readonly label: string
  /** Starts with the label, so that voice control users reach the button by it. */
  readonly title: string
  readonly url: string
  readonly lastsMs: number
  /** A description of what will be written. */
  readonly about?: VNode
  readonly body: (reason: string, until: number) => unknown
  readonly onChange: (isOpen: boolean) => void
  readonly children?: ComponentChildren
}

function Form({ label, title, url, lastsMs, about, body, onChange, children }: FormProps): VNode {
  const { now, announce } = useApp()
  const dialog = useDialog(onChange)
  const { error, isSending, fail, reset, send } = useSending<Written>(url)
  const [until, setUntil] = useState('')
  const [written, setWritten] = useState<Written>()
  const form = useRef<HTMLFormElement>(null)
  const errorId = useId()
  useEffect(() => {
    if (error?.field !== undefined) form.current?.querySelector<HTMLElement>(`[name=${error.field}]`)?.focus()
  }, [error])
  const open = (): void => {
    setUntil(fieldTime(now() + lastsMs))
    reset()
    setWritten(undefined)
    dialog.open()
  }
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const reason = String(new FormData(event.currentTarget as HTMLFormElement).get('reason') ?? '').trim()
    const end = parseFieldTime(until)
    if (reason === '') fail({ field: 'reason', text: 'Give a reason: the people who meet this read it.' })
    else if (end === undefined || end <= now()) fail({ field: 'until', text: 'The end must be a time in the future.' })
    else await create(reason, end)
  }
  const create = async (reason: string, end: number): Promise<void> => {
    const created = await send(body(reason, end), 'Not created')
    if (created === undefined) return
    announce(`${created.kind} ${created.name} created`)
    setWritten(created)
  }
  const named = (field: string) => ({
    name: field,
    required: true,
    ...(error?.field === field && { 'aria-invalid': true, 'aria-describedby': errorId }),
  })
  return h(
    'span',
    { ref: dialog.home },
    h('button', { type: 'button', 'aria-label': `${title}…`, 'aria-haspopup': 'dialog', onClick: open }, label),
    dialog.isOpen &&
      h(
        DialogBox,
        written === undefined
          ? { dialog, title, ...defined({ about }) }
          : { dialog, title: 'Created', about: h('p', {}, `${written.kind} `, h('code', {}, written.name)) },
        written === undefined
          ? h(
              'form',
              { ref: form, noValidate: true, onSubmit: (e: SubmitEvent) => void submit(e) },
              children,
              h('label', {}, 'Reason', h('input', { ...named('reason'), maxLength: MOST_REASON, autoComplete: 'off' })),
              h(
                'label',
                {},
                'Ends',
                h('input', {
                  ...named('until'),
                  type: 'datetime-local',
                  value: until,
                  onInput: (e: Event) => setUntil((e.currentTarget as HTMLInputElement).value),
                }),
              ),
              h('div', { role: 'alert', id: errorId }, error !== undefined && h('p', { class: 'error' }, error.text)),
              h(
                'div',
                { class: 'tools' },
                h('button', { type: 'button', onClick: dialog.close }, 'Cancel'),
                h('button', { type: 'submit', class: 'main', 'aria-disabled': isSending }, label.replace('…', '')),
              ),
            )
          : h(Created, { written, close: dialog.close }),
      ),
  )
}

/** Replaces the form, whose button had the focus. */
function Created({ written, close }: { readonly written: Written; readonly close: () => void }): VNode {
  const { command, warnings = [] } = written
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => button.current?.focus(), [])
  return h(
    'div',
    { class: 'stack' },
    warnings.map((text) => h('p', { key: text, class: 'error', role: 'alert' }, text)),
    h('p', { class: 'soft' }, 'The same in a terminal'),
    h(Terminal, { command }),
    h('div', { class: 'tools' }, h('button', { type: 'button', class: 'main', ref: button, onClick: close }, 'Close')),
  )
}
