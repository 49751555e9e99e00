// The page's only two writes: a Hold and an Approval, each with a reason and an end. Drawn only for users who may create them.
import { defined } from '#lib/defined.ts'
import { h } from '../h.ts'
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { ApprovalRequest, HoldRequest, Written } from '../../protocol.ts'
import type { Approvable } from '../../topics.ts'
import type { ApprovingAnswer } from '../../approving.ts'
import { useAnswer, useApp } from '../app.ts'
import { ApprovalFacts } from './approval-facts.ts'
import { DialogBox, useDialog } from './dialog.ts'
import { nounOf } from './noun.ts'
import { useSending } from './sending.ts'
import { Terminal } from './terminal.ts'
import { count, fieldTime, parseFieldTime } from './time.ts'

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
  /** Further objects that get the same hold. */
  readonly also?: readonly HoldRequest['target'][]
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
  const [{ cluster, target, also = [], effects, to, label = 'Hold…' }, isOpen, onChange] = useOpened(props)
  const access = session.clusters.find(({ name }) => name === cluster)
  const [effect, setEffect] = useState(effects[0] ?? 'Pause')
  const isOffered = access?.holds.includes(target.kind) === true && route.params['at'] === undefined
  if (!isOffered && !isOpen) return null
  const chosen = effects.includes(effect) ? effect : (effects[0] ?? 'Pause')
  return h(
    Form,
    {
      label,
      title: `${label.replace('…', '')}: ${nounOf(target.kind)} ${target.name}${also.length === 0 ? '' : ` and ${also.length} more`}${target.kind === 'Cluster' ? '' : ` in ${cluster}`}`,
      url: '/api/hold',
      onChange,
      ...(also.length > 0 && { about: h('p', {}, [target, ...also].map(({ name }) => name).join(', ')) }),
      lastsMs: HOLD_MS,
      bodies: (reason: string, until: number): readonly HoldRequest[] =>
        [target, ...also].map((each) => ({ cluster, effect: chosen, target: each, reason, until, ...defined({ to }) })),
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
  /** In words, where the name of the object says nothing. */
  readonly what?: string
  readonly approvals: readonly Approvable[]
}

export function ApproveButton(props: ApproveProps): VNode | null {
  const { session, route } = useApp()
  const [{ cluster, of, what = `${nounOf(of.kind)} ${of.name}`, approvals }, isOpen, onChange] = useOpened(props)
  const [digest, setDigest] = useState(approvals[0]?.digest ?? '')
  const [again, setAgain] = useState(0)
  const access = session.clusters.find(({ name }) => name === cluster)
  const chosen = approvals.find((a) => a.digest === digest) ?? approvals[0]
  const query = new URLSearchParams({ cluster, ...of, digest: chosen?.digest ?? '' })
  const loaded = useAnswer<ApprovingAnswer>(
    isOpen && chosen !== undefined ? `/api/approving?${query}` : undefined,
    again,
  )
  const isOffered = access?.canApprove === true && route.params['at'] === undefined
  if (chosen === undefined || (!isOffered && !isOpen)) return null
  return h(
    Form,
    {
      label: 'Approve…',
      title: `Approve: ${what} in ${cluster}`,
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
      ...(loaded.state !== 'Ready' && { notYet: 'What this approves is not shown yet.' }),
      bodies: (reason: string, until: number): readonly ApprovalRequest[] => [
        { cluster, of, digest: chosen.digest, reason, until },
      ],
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
    h(ApprovalFacts, { loaded, readAgain: () => setAgain(again + 1) }),
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
  /** Written one after the other; the first refusal ends it. */
  readonly bodies: (reason: string, until: number) => readonly unknown[]
  readonly onChange: (isOpen: boolean) => void
  /** Why nothing can be sent now: a user confirms only what was shown. */
  readonly notYet?: string
  readonly children?: ComponentChildren
}

function Form({ label, title, url, lastsMs, about, bodies, onChange, notYet, children }: FormProps): VNode {
  const { now, announce } = useApp()
  // What was created since the dialog was opened: another try continues after it.
  const opening = useRef<Written[]>([])
  const dialog = useDialog(onChange)
  const { error, isSending, fail, reset, send } = useSending<Written>(url)
  const [until, setUntil] = useState('')
  const [written, setWritten] = useState<readonly Written[]>([])
  const form = useRef<HTMLFormElement>(null)
  const errorId = useId()
  useEffect(() => {
    if (error?.field !== undefined) form.current?.querySelector<HTMLElement>(`[name=${error.field}]`)?.focus()
  }, [error])
  const open = (): void => {
    setUntil(fieldTime(now() + lastsMs))
    reset()
    setWritten([])
    opening.current = []
    dialog.open()
  }
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const reason = String(new FormData(event.currentTarget as HTMLFormElement).get('reason') ?? '').trim()
    const end = parseFieldTime(until)
    if (notYet !== undefined) fail({ text: notYet })
    else if (reason === '') fail({ field: 'reason', text: 'Give a reason: the people who meet this read it.' })
    else if (end === undefined || end <= now()) fail({ field: 'until', text: 'The end must be a time in the future.' })
    else await create(reason, end)
  }
  const create = async (reason: string, end: number): Promise<void> => {
    const all = bodies(reason, end)
    const created = opening.current
    const isStillOpen = (): boolean => opening.current === created && dialog.ref.current?.open === true
    for (const body of all.slice(created.length)) {
      if (!isStillOpen()) return announce(`Closed early: ${created.length} of ${all.length} created`)
      const one = await send(body, refusal(created.length, all.length))
      if (one === undefined) return
      created.push(one)
    }
    announce(createdText(created))
    if (isStillOpen()) setWritten([...created])
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
        written.length === 0
          ? { dialog, title, ...defined({ about }) }
          : { dialog, title: 'Created', about: written.map(createdLine) },
        written.length === 0
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
                h(
                  'button',
                  { type: 'submit', class: 'main', 'aria-disabled': isSending || notYet !== undefined },
                  label.replace('…', ''),
                ),
              ),
            )
          : h(Created, { written, close: dialog.close }),
      ),
  )
}

const refusal = (done: number, all: number): string =>
  done === 0 ? 'Not created' : `${done} of ${all} created, the next was not`

/** A toast has no room for the names of many. */
const MOST_NAMED = 3

const createdText = (created: readonly Written[]): string =>
  created.length > MOST_NAMED
    ? `${count(created.length)} ${nounOf(created[0]?.kind ?? '')}s created`
    : created.map(({ kind, name }) => `${nounOf(kind)} ${name} created`).join(', ')

const createdLine = ({ kind, name }: Written): VNode => h('p', { key: name }, `${nounOf(kind)} `, h('code', {}, name))

/** Replaces the form, whose button had the focus. */
function Created({ written, close }: { readonly written: readonly Written[]; readonly close: () => void }): VNode {
  const warnings = written.flatMap((w) => w.warnings ?? [])
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => button.current?.focus(), [])
  return h(
    'div',
    { class: 'stack' },
    warnings.map((text) => h('p', { key: text, class: 'error', role: 'alert' }, text)),
    h('p', { class: 'soft' }, 'The same in a terminal'),
    written.map(({ command, name }) => h(Terminal, { key: name, command })),
    h('div', { class: 'tools' }, h('button', { type: 'button', class: 'main', ref: button, onClick: close }, 'Close')),
  )
}
