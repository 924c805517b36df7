/** The part of an anywidget model that the scripts use: named values that Python and the browser share. */
export interface Model {
  get(name: string): any;
  set(name: string, value: any): void;
  save_changes(): void;
  on(event: string, callback: () => void): void;
  off(event: string, callback: () => void): void;
}
