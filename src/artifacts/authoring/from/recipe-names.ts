// Recipe names for help and completion; the recipes themselves load only when one is used.
export const RECIPE_NAMES = ['kubelet', 'containerd', 'runc', 'cni-plugins', 'node-exporter', 'chrony'] as const
export type RecipeName = (typeof RECIPE_NAMES)[number]
