// What a dashboard of ours must be, in Grafana's own types. test_schema.py puts a dashboard behind this text and compiles it.
import type { Dashboard, RowPanel, Panel } from '@grafana/schema';
import type { Options as StatOptions } from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type { Options as TableOptions, FieldConfig as TableFields } from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';
import type { Options as SeriesOptions, FieldConfig as SeriesFields } from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';
import type { Options as TrendOptions, FieldConfig as TrendFields } from '@grafana/schema/dist/esm/raw/composable/trend/panelcfg/x/TrendPanelCfg_types.gen';

// JSON has no enums: their values stand for them. What a panel does not say, Grafana fills in.
type Plain<T> = T extends string ? `${T}` : T extends number | boolean | null | undefined ? T
  : T extends (infer E)[] ? Plain<E>[] : T extends object ? { [K in keyof T]?: Plain<T[K]> } : T;

type Fields<C> = { defaults: Omit<Plain<NonNullable<Panel['fieldConfig']>['defaults']>, 'custom'> & { custom: Plain<C>; unit: string; noValue: string };
  overrides: Plain<NonNullable<Panel['fieldConfig']>['overrides']> };
type Base = Omit<Plain<Panel>, 'type' | 'options' | 'fieldConfig' | 'targets'> & { id: number; title: string; description: string;
  targets: { refId: string; expr: string; datasource: { type: 'prometheus'; uid: string }; editorMode: 'code'; instant: boolean; range: boolean;
             format?: 'table' | 'time_series'; legendFormat?: string }[] };
type Ours =
  | (Base & { type: 'stat'; options: Plain<StatOptions>; fieldConfig: Fields<{}> })
  | (Base & { type: 'table'; options: Plain<TableOptions>; fieldConfig: Fields<TableFields> })
  | (Base & { type: 'timeseries'; options: Plain<SeriesOptions>; fieldConfig: Fields<SeriesFields> })
  | (Base & { type: 'trend'; options: Plain<TrendOptions>; fieldConfig: Fields<TrendFields> })
  | Omit<Plain<RowPanel>, 'panels'> & { type: 'row'; panels: [] };
// A query variable's `definition` is what Grafana shows of it in lists; it writes it, and its types do not have it.
type Variables = { list: (NonNullable<NonNullable<Plain<Dashboard>['templating']>['list']>[number] & { definition?: string })[] };
// What an annotation asks of Prometheus is the data source's own, which the types leave out.
type Notes = { list: (NonNullable<NonNullable<Plain<Dashboard>['annotations']>['list']>[number] &
  { expr: string; useValueForTime: 'on'; titleFormat: string; step: string })[] };
export type OurDashboard = Omit<Plain<Dashboard>, 'panels' | 'templating' | 'annotations'> & { annotations: Notes; panels: Ours[]; templating: Variables; uid: string; title: string };
