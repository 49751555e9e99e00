// Ends a hold early, after a confirmation. Drawn only for users who may delete holds.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import type { LiftRequest, Written } from '../../protocol.ts'
import { useApp } from '../app.ts'
import { DialogBox, useDialog } from './dialog.ts'
import { useSending } from './sending.ts'

interface Props {
  readonly cluster: string
  readonly name: string
  readonly reason: string
}

export function LiftButton({ cluster, name, reason }: Props): VNode | null {
  const { session, route, announce } = useApp()
  const dialog = useDialog()
  const { error, isSending, reset, send } = useSending<Written>('/api/lift')
  const access = session.clusters.find((c) => c.name === cluster)
  if (access?.canLift !== true || route.params['at'] !== undefined) return null
  const open = (): void => {
    reset()
    dialog.open()
  }
  const lift = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const answer = await send({ cluster, name } satisfies LiftRequest, 'Not lifted')
    if (answer === undefined) return
    dialog.close()
    announce(`hold ${name} lifted`)
  }
  return h(
    'span',
    { ref: dialog.home },
    h('button', { type: 'button', 'aria-label': `Lift ${name}`, 'aria-haspopup': 'dialog', onClick: open }, 'Lift…'),
    dialog.isOpen &&
      h(
        DialogBox,
        {
          dialog,
          title: `Lift ${name}?`,
          isQuestion: true,
          about: h('p', {}, `What it holds in ${cluster} continues. It was placed because: ${reason}`),
        },
        h(
          'form',
          { onSubmit: (e: SubmitEvent) => void lift(e) },
          h('div', { role: 'alert' }, error !== undefined && h('p', { class: 'error' }, error.text)),
          h(
            'div',
            { class: 'tools' },
            h('button', { type: 'button', onClick: dialog.close }, 'Cancel'),
            h('button', { type: 'submit', class: 'main', 'aria-disabled': isSending }, 'Lift'),
          ),
        ),
      ),
  )
}
